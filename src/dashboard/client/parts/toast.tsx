/** Announcements of what just happened, shown at the foot of the page and spoken by
 *  screen readers. */
import { useEffect, useState } from 'preact/hooks';
import { t } from '../texts/texts.js';

interface Toast {
  id: number;
  text: string;
  isBad: boolean;
}

const SHOWN_MS = 6_000;
let last = 0;
let show: (toast: Toast) => void = () => undefined;

export function say(text: string, { isBad = false } = {}): void {
  last += 1;
  show({ id: last, text, isBad });
}

export function Toasts() {
  const [toast, setToast] = useState<Toast | null>(null);
  useEffect(() => {
    show = setToast;
  }, []);
  useEffect(() => {
    if (!toast || toast.isBad) return;
    const timer = setTimeout(() => setToast(null), SHOWN_MS);
    return () => clearTimeout(timer);
  }, [toast]);
  return (
    <div class="toasts" role="status">
      {toast && (
        <p key={toast.id} class={toast.isBad ? 'toast bad' : 'toast'}>
          {toast.text}
          {toast.isBad && (
            <button type="button" class="quiet" onClick={() => setToast(null)}>
              {t('dismiss')}
            </button>
          )}
        </p>
      )}
    </div>
  );
}
