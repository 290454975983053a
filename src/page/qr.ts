/** QR codes within a page. */
import { qrSvg } from '../selling/index.js';
import { type Html, trusted } from './html.js';

export const qrCode = async (text: string): Promise<Html> => trusted(await qrSvg(text));
