/** Draws QR codes for the screen and for downloads: dark on light in every theme, with the quiet
 *  zone that readers need. */

import { useMemo } from 'preact/hooks';
import { create } from 'qrcode';
import { save } from './export.js';

const QUIET_ZONE = 4;
/** Fits a phone of 320 px. */
const MAX_SCREEN_PIXELS = 286;
/** Enough for a printed poster. */
const MIN_PNG_PIXELS = 1200;

function draw(text: string) {
  const { data, size } = create(text, { errorCorrectionLevel: 'M' }).modules;
  let path = '';
  for (let y = 0; y < size; y += 1) {
    for (let x = 0; x < size; x += 1) {
      if (!data[y * size + x]) continue;
      let run = 1;
      while (x + run < size && data[y * size + x + run]) run += 1;
      path += `M${x + QUIET_ZONE} ${y + QUIET_ZONE}h${run}v1h-${run}z`;
      x += run;
    }
  }
  return { path, modules: size + 2 * QUIET_ZONE };
}

/** @param label content of the code */
export default function Qr({ text, label }: { text: string; label: string }) {
  const { path, modules } = useMemo(() => draw(text), [text]);
  // A whole number of pixels for each module gives sharp edges.
  const size = modules * Math.max(2, Math.floor(MAX_SCREEN_PIXELS / modules));
  return (
    <svg
      class="qr"
      role="img"
      aria-label={label}
      width={size}
      height={size}
      viewBox={`0 0 ${modules} ${modules}`}
      shape-rendering="crispEdges"
    >
      <rect width={modules} height={modules} fill="#fff" />
      <path d={path} fill="#000" />
    </svg>
  );
}

/** Saves the code as `<name>.svg` or `<name>.png`. */
export async function downloadQr(text: string, name: string, format: 'svg' | 'png'): Promise<void> {
  const { path, modules } = draw(text);
  save(format === 'svg' ? svgOf(path, modules) : await pngOf(path, modules), `${name}.${format}`);
}

const svgOf = (path: string, modules: number) =>
  new Blob(
    [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${modules} ${modules}" width="${modules * 10}" height="${modules * 10}" shape-rendering="crispEdges"><path fill="#fff" d="M0 0h${modules}v${modules}H0z"/><path d="${path}"/></svg>`,
    ],
    { type: 'image/svg+xml' },
  );

async function pngOf(path: string, modules: number): Promise<Blob> {
  const scale = Math.ceil(MIN_PNG_PIXELS / modules);
  const canvas = document.createElement('canvas');
  canvas.width = modules * scale;
  canvas.height = canvas.width;
  const context = canvas.getContext('2d')!;
  context.fillStyle = '#fff';
  context.fillRect(0, 0, canvas.width, canvas.height);
  context.fillStyle = '#000';
  context.scale(scale, scale);
  context.fill(new Path2D(path));
  return new Promise((resolve) => canvas.toBlob((blob) => resolve(blob!), 'image/png'));
}
