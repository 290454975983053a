// For the pages of a shop: opens a checkout in a window of its own, and tells the page how that ended.
//
//   <script src="https://pay.example/page/button-v1.js" defer></script>
//   <form method="post" action="/orders" data-stellar-collect><button>Buy</button></form>
//
// The form's answer redirects to the checkout's URL. Without this script, or where the browser opens no window, it does so in the page itself.
// A link to a checkout works as well: <a href="https://pay.example/c/…" data-stellar-collect>.
(() => {
  /** Only pages of the service that this script comes from are listened to. */
  const service = new URL(document.currentScript.dataset.service ?? document.currentScript.src).origin;
  const WIDTH = 480;
  const HEIGHT = 760;
  const LOOK_MS = 300;
  /** By form or link, so that another press shows the window again and makes no second order. */
  const open = new Map();

  document.addEventListener('submit', (event) => {
    if (event.defaultPrevented || !event.target.matches('form[data-stellar-collect]')) return;
    const form = event.target;
    const name = windowFor(form, event);
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
    if (windowFor(link, event) === null) return;
    event.preventDefault();
    open.get(link).popup.location = link.href;
  });

  addEventListener('message', ({ source, origin, data }) => {
    if (origin !== service || data?.source !== 'stellar-collect') return;
    for (const shown of open.values()) {
      if (shown.popup !== source) continue;
      Object.assign(shown, { checkout: data.checkout, paid: data.paid, url: data.url });
      if (data.leaving) shown.popup.close();
    }
  });

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
