/** Currencies of prices: ISO 4217 codes with their minor digits. A table, because a runtime knows
 *  other ones in each of its versions, and shows some with fewer digits than they have: prices that
 *  are stored must stay as they are. Also how any amount is written. Browsers load this file, which
 *  needs nothing else. */

/** Plain decimal text, at most 7 decimals, without sign, exponent or superfluous leading zero. */
export const AMOUNT_PATTERN = /^(0|[1-9]\d{0,11})(\.\d{1,7})?$/;

const BY_DIGITS: readonly (readonly [digits: number, codes: string])[] = [
  [0, 'BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF'],
  [3, 'BHD IQD JOD KWD LYD OMR TND'],
  [4, 'CLF'],
  [2, 'AED AFN ALL AMD ANG AOA ARS AUD AWG AZN BAM BBD BDT BGN BMD BND BOB BRL BSD BTN BWP BYN BZD CAD CDF CHF CNY'],
  [2, 'COP CRC CUC CUP CVE CZK DKK DOP DZD EGP ERN ETB EUR FJD FKP GBP GEL GHS GIP GMD GTQ GYD HKD HNL HRK HTG HUF'],
  [2, 'IDR ILS INR IRR JMD KES KGS KHR KPW KYD KZT LAK LBP LKR LRD LSL MAD MDL MGA MKD MMK MNT MOP MRU MUR MVR MWK'],
  [2, 'MXN MYR MZN NAD NGN NIO NOK NPR NZD PAB PEN PGK PHP PKR PLN QAR RON RSD RUB SAR SBD SCR SDG SEK SGD SHP SLE'],
  [2, 'SLL SOS SRD SSP STN SVC SYP SZL THB TJS TMT TOP TRY TTD TWD TZS UAH USD UYU UZS VES WST XCD XCG XDR XSU YER'],
  [2, 'ZAR ZMW ZWG ZWL'],
];

const DIGITS = new Map(BY_DIGITS.flatMap(([digits, codes]) => codes.split(' ').map((code) => [code, digits] as const)));

/** In alphabetical order. */
export const CURRENCIES: readonly string[] = [...DIGITS.keys()].sort();

export const isCurrency = (code: string): boolean => DIGITS.has(code);

/** Decimals of the currency's smallest unit: EUR 2, JPY 0, KWD 3.
 *  @param currency one of `CURRENCIES` */
export function minorDigits(currency: string): number {
  const digits = DIGITS.get(currency);
  if (digits === undefined) throw new RangeError(`no currency: ${currency}`);
  return digits;
}
