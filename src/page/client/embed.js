// The page in a frame of the shop's own page tells that page what happens. It goes to the account's `embedOrigins` alone: browsers keep it from others.
const main = document.querySelector('main.checkout');
const origins = window.parent === window ? [] : (main?.dataset.embed ?? '').split(' ').filter(Boolean);
let isTold = false;

function say(message) {
  for (const origin of origins) window.parent.postMessage(message, origin);
}

function tellPaid() {
  const { state, checkout = null } = main.dataset;
  if (state !== 'PAID' || isTold) return;
  isTold = true;
  say({ type: 'collect:paid', checkoutId: checkout, url: document.getElementById('back')?.href ?? null });
}

const closed = () => say({ type: 'collect:closed' });

if (origins.length > 0) {
  tellPaid();
  // The page's script shows a new state here, once all of it is drawn.
  new MutationObserver(() => setTimeout(tellPaid)).observe(main, { attributeFilter: ['data-state'] });
  // Escape closes the dialog, wherever the focus is; so does the button around the frame, which asks for it.
  document.addEventListener('keydown', (event) => {
    if (event.key === 'Escape' && !event.defaultPrevented && !document.querySelector('dialog[open]')) closed();
  });
  window.addEventListener('message', ({ source, origin, data }) => {
    if (source === window.parent && origins.includes(origin) && data?.type === 'collect:close') closed();
  });
}
