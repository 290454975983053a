/** A QR code with its name, instructions and downloads. The drawing code is loaded on demand. */
import type { ComponentChildren } from 'preact';
import { lazy, Suspense } from 'preact/compat';
import { say } from './toast.js';

const load = () => import('./qr.js');
const Qr = lazy(load);

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
