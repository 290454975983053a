/** QR codes: dark on light in every theme, with the quiet zone of four modules that
 *  readers need. */
const QUIET_ZONE = 4;
/** Fits a phone of 320 px. */
const MAX_SVG_PIXELS = 294;
/** Sharp on a printed poster. */
const MIN_PNG_PIXELS = 600;

/** The library, which is loaded for the first code, and how many modules wide that text's code is
 *  with its margin. */
async function prepare(text: string) {
  const { default: QRCode } = await import('qrcode');
  const { modules } = QRCode.create(text, { errorCorrectionLevel: 'M' });
  return { QRCode, modules: modules.size + 2 * QUIET_ZONE };
}

/** An SVG document. Its size is a whole number of pixels a module, so that every module has
 *  sharp edges. */
export async function qrSvg(text: string): Promise<string> {
  const { QRCode, modules } = await prepare(text);
  const width = modules * Math.max(2, Math.floor(MAX_SVG_PIXELS / modules));
  const svg = await QRCode.toString(text, { type: 'svg', errorCorrectionLevel: 'M', margin: QUIET_ZONE, width });
  return svg.trim();
}

/** A PNG image of at least 600 pixels a side. */
export async function qrPng(text: string): Promise<Buffer> {
  const { QRCode, modules } = await prepare(text);
  const scale = Math.ceil(MIN_PNG_PIXELS / modules);
  return QRCode.toBuffer(text, { type: 'png', errorCorrectionLevel: 'M', margin: QUIET_ZONE, scale });
}
