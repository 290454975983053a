// A wallet that is a page: it opens in a window of its own, and only what comes from there is heard. Browsers let it open only while a press is fresh.
import { fault } from './fault.js';

const LOOK_MS = 300;

/** @param {string} url @param {string} name of the window: a second one takes its place */
export function openWindow(url, name) {
  const { origin } = new URL(url);
  const opened = open(url, name, 'popup,width=480,height=640');
  if (!opened) throw fault('windowBlocked');
  return {
    /** Waits for the first message that `pick` makes something of. Rejects when the payer closes the window. */
    hear: (pick) =>
      new Promise((resolve, reject) => {
        const end = (settle, value) => {
          removeEventListener('message', listen);
          clearInterval(watch);
          settle(value);
        };
        const listen = (event) => {
          if (event.origin !== origin || event.source !== opened) return;
          const picked = typeof event.data === 'object' && event.data !== null && pick(event.data);
          if (picked) end(resolve, picked);
        };
        const watch = setInterval(() => opened.closed && end(reject, fault('windowClosed')), LOOK_MS);
        addEventListener('message', listen);
      }),
    tell: (message) => opened.postMessage(message, origin),
    close: () => opened.close(),
  };
}
