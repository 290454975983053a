/** A QR code with its name, instructions and downloads. The drawing code is loaded on demand. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { t } from '../texts/texts.js';
import { say } from './toast.js';

type Drawing = typeof import('./qr.js');

/** Loads what draws the codes: early, for a page that stays open through an upgrade. */
export const loadQr = (): Promise<Drawing> => import('./qr.js');

/** A code, or why there is none. */
export function Qr({ text, label }: { text: string; label: string }) {
  const [drawing, setDrawing] = useState<Drawing | 'gone' | null>(null);
  useEffect(() => {
    // Undefined while the page reloads.
    loadQr().then(
      (loaded) => setDrawing(loaded ?? null),
      () => setDrawing('gone'),
    );
  }, []);
  if (drawing === 'gone') return <Gone />;
  return drawing ? <drawing.default text={text} label={label} /> : <div class="qr" />;
}

const Gone = () => (
  <div class="callout bad" role="alert">
    <p>{t('codeCannotDrawnFile')}</p>
    <button type="button" class="plain" onClick={() => location.reload()}>
      {t('reloadPage')}
    </button>
  </div>
);

/** @param label content of the code @param file name of the downloads; without it there are none */
export function QrBlock({
  text,
  label,
  file,
  children,
}: {
  text: string;
  label: string;
  file?: string;
  children?: ComponentChildren;
}) {
  const download = async (format: 'svg' | 'png') => {
    try {
      await (await loadQr()).downloadQr(text, file!, format);
      say(t('savedFileFormat', { file: file!, format }));
    } catch {
      say(t('filePageDidNot'), { isBad: true });
    }
  };
  return (
    <figure class="qr-block">
      <Qr text={text} label={label} />
      <figcaption>
        <strong>{label}</strong>
        {children}
        {file && (
          <span class="actions">
            <button type="button" class="plain" onClick={() => download('svg')}>
              SVG<span class="unseen"> {label}</span>
            </button>
            <button type="button" class="plain" onClick={() => download('png')}>
              PNG<span class="unseen"> {label}</span>
            </button>
          </span>
        )}
      </figcaption>
    </figure>
  );
}
