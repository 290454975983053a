/** After an upgrade the files of this build are gone. The page reloads, once for each build; where that does not help, what needs the file says so. */

const PLACE = 'reloaded';
/** The name of this build's file, which holds the hash of all of it. */
const BUILD = import.meta.url;

export function reloadWhenGone(): void {
  addEventListener('vite:preloadError', (event) => {
    // Without a network no file comes, and the page that is there is better than none.
    if (!navigator.onLine || !mayReload()) return;
    event.preventDefault();
    location.reload();
  });
}

/** False where it was done for this build, or could not be noted: it would be done for ever. */
function mayReload(): boolean {
  try {
    if (sessionStorage.getItem(PLACE) === BUILD) return false;
    sessionStorage.setItem(PLACE, BUILD);
    return true;
  } catch {
    return false;
  }
}
