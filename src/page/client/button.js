// For the pages of a shop: opens a checkout in a window of its own, and tells the page how that ended.
//
//   <script src="https://pay.example/page/button-v1.js" defer></script>
//   <form method="post" action="/orders" data-stellar-collect><button>Buy</button></form>
//
// The form's answer redirects to the checkout's URL. Without this script, or where the browser opens no window, it does so in the page itself.
// A link to a checkout works as well: <a href="https://pay.example/c/…" data-stellar-collect>.
// With data-open="modal" it opens in a dialog of the page, whose origin the account's `embedOrigins` must name.
(() => {
  /** Only pages of the service that this script comes from are listened to. */
  const service = new URL(document.currentScript.dataset.service ?? document.currentScript.src).origin;
  const WIDTH = 480;
  const HEIGHT = 760;
  const LOOK_MS = 300;
  /** How long the page in a dialog, which is hidden by then, has to say that it closes. */
  const CLOSE_MS = 3000;
  const phone = matchMedia('(max-width: 560px)');
  /** By form or link, so that another press shows the window again and makes no second order. */
  const open = new Map();

  document.addEventListener('submit', (event) => {
    if (event.defaultPrevented || !event.target.matches('form[data-stellar-collect]')) return;
    const form = event.target;
    const name = placeFor(form, event);
    if (name === null) return;
    // The browser sends the form into the window once this listener has returned.
    const before = form.getAttribute('target');
    form.target = name;
    setTimeout(() => (before === null ? form.removeAttribute('target') : form.setAttribute('target', before)));
  });

  document.addEventListener('click', (event) => {
    const link = event.target.closest?.('a[data-stellar-collect]');
    if (!link || event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey)
      return;
    const name = placeFor(link, event);
    if (name === null) return;
    event.preventDefault();
    const { popup, frame } = open.get(link);
    if (frame) frame.src = link.href;
    else popup.location = link.href;
  });

  addEventListener('message', ({ source, origin, data }) => {
    if (origin !== service) return;
    for (const [element, shown] of open) {
      if (shown.frame?.contentWindow === source) hearFrame(element, shown, data);
      if (shown.popup !== source || data?.source !== 'stellar-collect') continue;
      Object.assign(shown, { checkout: data.checkout, paid: data.paid, url: data.url });
      if (data.leaving) shown.popup.close();
    }
  });

  const placeFor = (element, event) =>
    element.dataset.open === 'modal' ? dialogFor(element, event) : windowFor(element, event);

  function hearFrame(element, shown, data) {
    if (data?.type === 'collect:paid') Object.assign(shown, { checkout: data.checkoutId, paid: true, url: data.url });
    if (data?.type === 'collect:closed') remove(element);
  }

  function remove(element) {
    const { dialog } = open.get(element) ?? {};
    if (!dialog) return;
    hide(element, dialog);
    dialog.remove();
    end(element);
  }

  function hide(element, dialog) {
    if (!dialog.open) return;
    dialog.close();
    element.focus?.();
  }

  /** A dialog over the whole page: the browser keeps the focus inside, and Escape closes it. @returns the name of its frame; null where it is open already */
  function dialogFor(element, event) {
    // Hidden, but its page has not said that it closes.
    if (open.get(element)?.dialog?.open === false) remove(element);
    if (open.has(element)) {
      event.preventDefault();
      return null;
    }
    const name = `stellar-collect-${crypto.getRandomValues(new Uint32Array(2)).join('')}`;
    const dialog = document.createElement('dialog');
    const button = document.createElement('button');
    const frame = document.createElement('iframe');
    dialog.setAttribute('aria-label', element.textContent.trim() || 'Payment');
    Object.assign(button, { type: 'button', textContent: '\u00d7' });
    button.setAttribute('aria-label', element.dataset.close ?? 'Close');
    Object.assign(frame, { name, title: dialog.getAttribute('aria-label'), allow: 'clipboard-write' });
    Object.assign(button.style, {
      ...{ position: 'absolute', top: '0', right: '0', width: '44px', height: '44px', border: '0' },
      ...{ background: 'none', color: 'inherit', font: '24px/1 sans-serif', cursor: 'pointer' },
    });
    Object.assign(frame.style, {
      position: 'absolute',
      inset: '44px 0 0',
      width: '100%',
      height: 'calc(100% - 44px)',
      border: '0',
    });
    const fit = () =>
      Object.assign(dialog.style, {
        ...{ padding: '0', border: '0', overflow: 'hidden', maxWidth: 'none', maxHeight: 'none' },
        width: phone.matches ? '100vw' : `min(${WIDTH}px, 100vw)`,
        height: phone.matches ? '100dvh' : `min(${HEIGHT}px, 96dvh)`,
        borderRadius: phone.matches ? '0' : '16px',
      });
    fit();
    phone.addEventListener('change', fit);
    /** The page in the frame says that it closes; one that does not answer is taken away all the same. */
    const close = () => {
      hide(element, dialog);
      const ask = () => frame.contentWindow?.postMessage({ type: 'collect:close' }, service);
      ask();
      // While the page loads it does not hear yet.
      frame.addEventListener('load', ask);
      setTimeout(() => open.get(element)?.dialog === dialog && remove(element), CLOSE_MS);
    };
    button.addEventListener('click', close);
    dialog.addEventListener('cancel', (cancelled) => {
      cancelled.preventDefault();
      close();
    });
    dialog.append(button, frame);
    document.body.append(dialog);
    open.set(element, { dialog, frame, checkout: null, paid: false, url: null });
    dialog.showModal();
    return name;
  }

  /** @returns the name of a new window for this element; null where one is open already, and where the browser opens none */
  function windowFor(element, event) {
    const shown = open.get(element);
    if (shown && !shown.popup.closed) {
      event.preventDefault();
      shown.popup.focus();
      return null;
    }
    const name = `stellar-collect-${crypto.getRandomValues(new Uint32Array(2)).join('')}`;
    const left = Math.max(0, screenX + (outerWidth - WIDTH) / 2);
    const popup = window.open('', name, `popup,width=${WIDTH},height=${HEIGHT},left=${left},top=${screenY + 40}`);
    if (!popup) return null;
    open.set(element, { popup, checkout: null, paid: false, url: null });
    const timer = setInterval(() => {
      if (!popup.closed) return;
      clearInterval(timer);
      end(element);
    }, LOOK_MS);
    return name;
  }

  /** The window has gone. A page that does not prevent it goes on to the checkout's `successUrl` when the order was paid. */
  function end(element) {
    const { checkout, paid, url } = open.get(element);
    open.delete(element);
    const detail = { checkout, paid };
    const ended = new CustomEvent('checkoutend', { bubbles: true, cancelable: true, detail });
    const goesOn = (element.isConnected ? element : document).dispatchEvent(ended);
    if (goesOn && paid && URL.canParse(url) && new URL(url).origin === location.origin) location.assign(url);
  }
})();
