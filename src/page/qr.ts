/** QR codes within a page. */
import { qrSvg } from '../resources/qr.js';
import { type Html, trusted } from './html.js';

export const qrCode = async (text: string): Promise<Html> => trusted(await qrSvg(text));
