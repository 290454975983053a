/** A QR code with its name, what to do with it, and its downloads. The code that draws it is loaded when one is shown. */
import type { ComponentChildren } from 'preact';
import { lazy, Suspense } from 'preact/compat';
import { say } from './toast.js';

const load = () => import('./qr.js');
const Qr = lazy(load);

/** @param label what the code holds @param file name of the downloads; none without it */
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
    await (await load()).downloadQr(text, file!, format);
    say(`Saved ${file}.${format}.`);
  };
  return (
    <figure class="qr-block">
      <Suspense fallback={<div class="qr" />}>
        <Qr text={text} label={label} />
      </Suspense>
      <figcaption>
        <strong>{label}</strong>
        {children}
        {file && (
          <span class="actions">
            <button type="button" class="plain" onClick={() => download('svg')}>
              SVG<span class="unseen"> of the {label}</span>
            </button>
            <button type="button" class="plain" onClick={() => download('png')}>
              PNG<span class="unseen"> of the {label}</span>
            </button>
          </span>
        )}
      </figcaption>
    </figure>
  );
}
