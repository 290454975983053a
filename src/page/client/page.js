// The page comes alive: it copies, redraws the code for an amount, pays on LOCAL, and notices the payment. Without it, all of this works by forms.

const POLL_MS = 4_000;
/** The server's heartbeat is quicker than this. */
const SILENCE_MS = 25_000;
const REFUSED_MS = 10_000;
const TYPING_MS = 350;
const LEAVE_MS = 5_000;
/** How long the shop's page has to close this window. */
const CLOSE_MS = 500;
const SOON_MS = 5 * 60_000;
/** A wallet that opens takes the page's place, or its focus, by then. */
const ANSWER_MS = 1_500;
const UNITS = [
  ['day', 86_400],
  ['hour', 3600],
  ['minute', 60],
  ['second', 1],
];

/** What this script says, in the page's language. */
let texts;

const byId = (id) => document.getElementById(id);
document.documentElement.classList.add('js');

/** The page goes back to the shop soon. */
let leaving = false;

/** The choice of wallets, once it is loaded. */
let wallets;

/** Makes the test button ready for another press, once what it paid has arrived. */
let offerTestPayment;

const main = document.querySelector('main.checkout');
const isFramed = window.parent !== window;
if (!main) showLocalTimes();
byId('print')?.addEventListener('click', () => print());
if (main) {
  texts = JSON.parse(main.dataset.texts);
  document.addEventListener('click', copyOnClick);
  dropBrokenPicture(main.querySelector('.picture'));
  showLocalTimes();
  countDown();
  followPayments();
  leaveWhenPaid();
  tellShop();
  document.addEventListener('click', leaveOnClick);
  document.addEventListener('click', sayWhenNothingOpens);
  redrawOnEntry(document.querySelector('form.amount'));
  document.addEventListener('submit', payFromTestAccount);
  document.addEventListener('click', openWallets);
}

/** Nothing of a wallet is loaded before a payer asks for one. @param {MouseEvent} event */
async function openWallets(event) {
  const button = event.target.closest('.by-wallet button');
  if (!button) return;
  const problem = button.parentElement.querySelector('.problem');
  problem.textContent = '';
  try {
    const { files, passphrase } = main.dataset;
    wallets ??= import(JSON.parse(files).main).then(({ createWallets }) =>
      createWallets({ at, passphrase, texts, files: JSON.parse(files), main }),
    );
    await (await wallets).open();
  } catch {
    wallets = undefined;
    problem.textContent = texts.noWallets;
  }
}

/** @param {MouseEvent} event */
async function copyOnClick(event) {
  const button = event.target.closest('.copy');
  if (!button) return;
  const copied = await copyText(button.dataset.copy);
  const label = button.querySelector('span');
  label.textContent = copied ? texts.copied : texts.selectIt;
  button.classList.toggle('done', copied);
  say(copied ? texts.copied : texts.cannotCopy);
  setTimeout(() => {
    label.textContent = texts.copy;
    button.classList.remove('done');
  }, 2_000);
}

async function copyText(text) {
  // Browsers offer the clipboard only to https and localhost.
  if (navigator.clipboard) {
    try {
      await navigator.clipboard.writeText(text);
      return true;
    } catch {}
  }
  const field = document.createElement('textarea');
  field.value = text;
  field.className = 'unseen';
  document.body.append(field);
  field.select();
  const copied = document.execCommand('copy');
  field.remove();
  return copied;
}

function say(words) {
  byId('announcement').textContent = words;
}

function dropBrokenPicture(picture) {
  if (!picture) return;
  const drop = () => picture.remove();
  if (picture.complete && picture.naturalWidth === 0) drop();
  else picture.addEventListener('error', drop);
}

/** An address of this page, in the language that was asked for. */
function at(path = '') {
  const { address, lang } = main.dataset;
  return lang ? `${address}${path}${path.includes('?') ? '&' : '?'}lang=${lang}` : address + path;
}

/** Digits are those of the amounts. */
function locale() {
  const { lang } = document.documentElement;
  return lang === 'ar' ? 'ar-u-nu-latn' : lang;
}

function showLocalTimes() {
  for (const time of document.querySelectorAll('time')) {
    const moment = new Date(time.dateTime);
    time.textContent = moment.toLocaleString(locale(), { dateStyle: 'medium', timeStyle: 'short' });
  }
}

function followPayments() {
  // Kept with the entry in the history: a reload, or a phone that comes back from the wallet, goes on with the same visit.
  const [navigation] = performance.getEntriesByType('navigation');
  const opened = (navigation?.type !== 'navigate' && history.state?.opened) || main.dataset.opened;
  // The page of a checkout shows all of it anyway; and a reload would no longer name the shop's page in Referer.
  if (!main.dataset.opener) history.replaceState({ ...history.state, opened }, '');
  // The page in another language shows the same visit: what was paid, what was asked, and who opened it.
  for (const link of document.querySelectorAll('.languages a')) {
    const target = new URL(link.href);
    target.searchParams.set('since', opened);
    const amount = new URLSearchParams(location.search).get('amount');
    if (amount !== null) target.searchParams.set('amount', amount);
    if (main.dataset.opener) target.searchParams.set('opener', main.dataset.opener);
    link.href = target.href;
  }

  let source;
  let sourceAt = 0;
  let heardAt = 0;
  let polling = false;
  let failures = 0;
  let shown;

  function take(snapshot) {
    failures = 0;
    delete main.dataset.offline;
    if (snapshot.payable && !byId('details') && !byId('order')) return location.reload();
    if (snapshot.due !== main.dataset.due) {
      main.dataset.due = snapshot.due;
      if (snapshot.payable) drawDetails();
    }
    const unchanged = snapshot.state === main.dataset.state && (shown ?? snapshot.html) === snapshot.html;
    const first = shown === undefined;
    shown = snapshot.html;
    if (unchanged && !(first && snapshot.payments.length > 0)) return;
    const ask = byId('ask').querySelector('details');
    // What a payer has typed in stays, for when pieces come back.
    if (byId('order')) byId('ask').hidden = !snapshot.payable;
    else if (!snapshot.payable) {
      byId('ask').replaceChildren();
      byId('countdown')?.remove();
    } else if (main.dataset.due === undefined && main.dataset.state === 'WAITING')
      ask.open = snapshot.state === 'WAITING';
    offerTestPayment?.();
    main.dispatchEvent(new Event('turned'));
    main.dataset.state = snapshot.state;
    byId('status').innerHTML = snapshot.html;
    document.title = snapshot.title;
    say(snapshot.announcement);
    showLocalTimes();
    leaveWhenPaid();
    tellShop();
    if (snapshot.payments.length > 0) byId('status').scrollIntoView({ block: 'nearest' });
  }

  function listen() {
    source?.close();
    sourceAt = Date.now();
    source = new EventSource(at(`/events?since=${opened}`));
    const hear = () => {
      heardAt = Date.now();
    };
    source.addEventListener('beat', hear);
    source.addEventListener('status', (event) => {
      hear();
      take(JSON.parse(event.data));
    });
    source.addEventListener('error', () => {
      heardAt = 0;
      poll();
    });
  }

  async function poll() {
    if (polling) return;
    polling = true;
    try {
      const answer = await fetch(at(`/status?since=${opened}`), { signal: AbortSignal.timeout(10_000) });
      if (!answer.ok) throw new Error(answer.statusText);
      take(await answer.json());
    } catch {
      failures += 1;
      if (failures > 1) main.dataset.offline = '';
    }
    polling = false;
  }

  function look() {
    if (document.hidden) return;
    const silentMs = Date.now() - heardAt;
    if (silentMs < SILENCE_MS) return;
    poll();
    // A refused stream does not come back by itself; one that connects and says nothing is no better.
    const patienceMs = source.readyState === EventSource.CLOSED ? REFUSED_MS : SILENCE_MS;
    if (Date.now() - sourceAt > patienceMs) listen();
  }

  function wake() {
    if (document.hidden) return;
    poll();
    if (source.readyState === EventSource.CLOSED) listen();
  }

  listen();
  setInterval(look, POLL_MS);
  main.addEventListener('ended', look);
  document.addEventListener('visibilitychange', wake);
  window.addEventListener('pageshow', (event) => event.persisted && wake());
  window.addEventListener('online', wake);
}

/** What remains of a checkout has changed: amount, code and address as the server draws them now. */
async function drawDetails() {
  try {
    const answer = await fetch(at());
    if (!answer.ok) throw new Error(answer.statusText);
    const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
    for (const id of ['price', 'ask']) byId(id).replaceChildren(...fresh.getElementById(id).childNodes);
  } catch {
    // What is shown is no longer what is due: nobody may pay by it.
    byId('details')?.classList.add('stale');
    setTimeout(drawDetails, POLL_MS);
  }
}

/** Counts on from the server's time, whatever this device's clock says. */
function countDown() {
  const shown = byId('countdown');
  if (!shown) return;
  const startedAt = performance.now();
  const totalMs = Number(shown.dataset.ends) - Number(shown.dataset.now);
  const timer = setInterval(() => {
    const leftMs = totalMs - (performance.now() - startedAt);
    shown.querySelector('[role=timer]').textContent = timeLeft(leftMs);
    shown.toggleAttribute('data-soon', leftMs < SOON_MS);
    if (leftMs > 0 && shown.isConnected) return;
    clearInterval(timer);
    main.dispatchEvent(new Event('ended'));
  }, 1_000);
}

/** As the server writes it. */
function timeLeft(ms) {
  const seconds = Math.max(0, Math.floor(ms / 1000));
  const first = seconds === 0 ? 3 : UNITS.findIndex(([, size]) => seconds >= size);
  return UNITS.slice(first, first + 2)
    .map(([unit, size], index) => {
      const count = Math.floor((index === 0 ? seconds : seconds % UNITS[first][1]) / size);
      return new Intl.NumberFormat(locale(), { style: 'unit', unit, unitDisplay: 'short' }).format(count);
    })
    .join(' ');
}

/** Once the checkout is paid, the way back to the shop. */
function leaveWhenPaid() {
  const back = byId('back');
  if (!back || leaving) return;
  // The shop's page around it goes on by itself.
  if (isFramed) return;
  leaving = true;
  setTimeout(() => leaveFor(back.href), LEAVE_MS);
}

/** The page of the shop that opened this window learns where its checkout stands. It goes to nobody else: the server has named the shop's origin. */
function tellShop(leaving = false) {
  const { opener: shop, checkout, state } = main.dataset;
  if (!shop || !window.opener) return false;
  const url = byId('back')?.href ?? null;
  window.opener.postMessage({ source: 'stellar-collect', checkout, paid: state === 'PAID', url, leaving }, shop);
  return true;
}

/** The shop's page closes this window and goes on; where none listens, this one goes to the shop by itself. */
function leaveFor(url) {
  if (tellShop(true)) setTimeout(() => location.assign(url), CLOSE_MS);
  else location.assign(url);
}

/** @param {MouseEvent} event */
function leaveOnClick(event) {
  const link = event.target.closest('.back a');
  if (!link) return;
  // In place of the shop's page around it, not inside of it.
  if (isFramed) return void link.setAttribute('target', '_top');
  if (!main.dataset.opener || event.ctrlKey || event.metaKey || event.shiftKey) return;
  event.preventDefault();
  leaveFor(link.href);
}

/** The browser does not tell whether a program took the link: one that opens hides the page or takes its focus. @param {MouseEvent} event */
function sayWhenNothingOpens(event) {
  const link = event.target.closest('a.open');
  if (!link) return;
  const answer = link.parentElement.querySelector('.no-answer');
  answer.textContent = '';
  const waiting = new AbortController();
  const opened = () => waiting.abort();
  for (const [target, name] of [
    [window, 'blur'],
    [window, 'pagehide'],
    [document, 'visibilitychange'],
  ]) {
    target.addEventListener(name, opened, { signal: waiting.signal });
  }
  setTimeout(() => {
    if (!waiting.signal.aborted) answer.textContent = texts.noAnswer;
    waiting.abort();
  }, ANSWER_MS);
}

function redrawOnEntry(form) {
  if (!form) return;
  const field = form.elements.amount;
  let timer;
  let request = new AbortController();
  let drawn = field.value;

  async function redraw(done) {
    clearTimeout(timer);
    request.abort();
    request = new AbortController();
    const entered = field.value;
    const query = entered.trim() === '' ? '' : `?amount=${encodeURIComponent(entered)}`;
    try {
      const answer = await fetch(at(query), { signal: request.signal });
      if (answer.status !== 200 && answer.status !== 422) throw new Error(answer.statusText);
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html');
      const wrong = answer.status === 422;
      for (const id of ['price', 'details']) byId(id).replaceChildren(...fresh.getElementById(id).childNodes);
      const problem = fresh.getElementById('amount-problem');
      // Nobody is told off in the middle of a number; who was told already learns what is wrong now.
      if (done || !wrong || field.hasAttribute('aria-invalid')) {
        byId('amount-problem').replaceChildren(...problem.childNodes);
        if (wrong) field.setAttribute('aria-invalid', 'true');
        else field.removeAttribute('aria-invalid');
      }
      drawn = wrong && !done ? undefined : entered;
      byId('details').classList.remove('stale');
      if (!wrong) history.replaceState(history.state, '', at(query));
    } catch (error) {
      if (error.name !== 'AbortError' && done) form.submit();
    }
  }

  field.addEventListener('input', () => {
    // What is on the screen no longer is what the field says: nobody may pay by it.
    byId('details').classList.add('stale');
    clearTimeout(timer);
    timer = setTimeout(redraw, TYPING_MS, false);
  });
  field.addEventListener('change', () => field.value !== drawn && redraw(true));
  form.addEventListener('submit', (event) => {
    event.preventDefault();
    redraw(true);
  });
}

/** @param {SubmitEvent} event */
async function payFromTestAccount(event) {
  const form = event.target;
  if (!form.matches('form.test')) return;
  event.preventDefault();
  const button = form.querySelector('button');
  const problem = form.querySelector('.problem');
  const label = button.innerHTML;
  offerTestPayment = () => {
    button.innerHTML = label;
    button.disabled = false;
  };
  button.disabled = true;
  button.textContent = texts.paying;
  problem.textContent = '';
  try {
    const body = new URLSearchParams(new FormData(form));
    const answer = await fetch(form.action, { method: 'POST', body, headers: { accept: 'application/json' } });
    const payment = await answer.json();
    if (payment.paid) {
      if (button.disabled) button.textContent = texts.paidArriving;
      return;
    }
    problem.textContent = payment.message;
  } catch {
    problem.textContent = texts.notSent;
  }
  offerTestPayment();
}
