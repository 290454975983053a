/** A shop's appearance to payers, with colors that keep text readable. */

/** Null for unset values. */
export interface Brand {
  name: string | null;
  logoUrl: string | null;
  /** `#rrggbb`. */
  color: string | null;
  supportUrl: string | null;
  supportEmail: string | null;
}

export const NO_BRAND: Brand = { name: null, logoUrl: null, color: null, supportUrl: null, supportEmail: null };

/** Colors of a button, each `#rrggbb`. */
interface ButtonColors {
  background: string;
  /** The text's color: at least 4.5:1 against `background` and against `hover`. */
  text: string;
  hover: string;
}

const WHITE = '#ffffff';
const BLACK = '#000000';
/** How far a button's color moves away from its text's color on hover. */
const HOVER_SHARE = 0.15;

/** The text is black or white, whichever contrasts more: at least 4.58:1 on any color. @param
 *  color `#rrggbb` */
export function buttonColors(color: string): ButtonColors {
  const text = contrast(color, WHITE) >= contrast(color, BLACK) ? WHITE : BLACK;
  return { background: color.toLowerCase(), text, hover: mix(color, text === WHITE ? BLACK : WHITE, HOVER_SHARE) };
}

/** Contrast ratio of the two colors by WCAG 2, 1 to 21. */
export function contrast(one: string, other: string): number {
  const [darker, lighter] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (lighter + 0.05) / (darker + 0.05);
}

const channels = (color: string): number[] => [1, 3, 5].map((at) => Number.parseInt(color.slice(at, at + 2), 16));

function luminance(color: string): number {
  const [red, green, blue] = channels(color).map((channel) => {
    const share = channel / 255;
    return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
  }) as [number, number, number];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function mix(color: string, other: string, share: number): string {
  const others = channels(other);
  const mixed = channels(color).map((channel, index) => Math.round(channel + (others[index]! - channel) * share));
  return `#${mixed.map((channel) => channel.toString(16).padStart(2, '0')).join('')}`;
}
