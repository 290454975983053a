/** QR codes as SVG: dark on light in every theme, with the quiet zone of four modules that readers need. */
import QRCode from 'qrcode';
import { type Html, trusted } from './html.js';

const QUIET_ZONE = 4;
/** What a phone of 320 px has room for. */
const MAX_PIXELS = 294;

/** Its size is a whole number of pixels a module, so that every module has sharp edges. */
export async function qrCode(text: string): Promise<Html> {
  const code = QRCode.create(text, { errorCorrectionLevel: 'M' });
  const modules = code.modules.size + 2 * QUIET_ZONE;
  const svg = await QRCode.toString(text, {
    type: 'svg',
    errorCorrectionLevel: 'M',
    margin: QUIET_ZONE,
    width: modules * Math.max(2, Math.floor(MAX_PIXELS / modules)),
  });
  return trusted(svg.trim());
}
