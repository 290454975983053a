/** Currencies of prices: the ISO 4217 codes of the runtime, with their minor digits. */

/** In alphabetical order. */
export const CURRENCIES: readonly string[] = Intl.supportedValuesOf('currency');
const KNOWN = new Set(CURRENCIES);

export const isCurrency = (code: string): boolean => KNOWN.has(code);

const digits = new Map<string, number>();

/** Decimals of the currency's smallest unit: EUR 2, JPY 0, KWD 3. @param currency one of `CURRENCIES` */
export function minorDigits(currency: string): number {
  const known = digits.get(currency);
  if (known !== undefined) return known;
  const { maximumFractionDigits } = new Intl.NumberFormat('en', { style: 'currency', currency }).resolvedOptions();
  digits.set(currency, maximumFractionDigits!);
  return maximumFractionDigits!;
}
