/** Money in a currency as people write it: `3,50 €` in German, `€9.50` in English. Runs in the
 *  browser too. The API stays canonical, and amounts of an asset keep their point in
 *  every language. */
import { minorDigits } from '../../contracts/currencies.js';

const made = new Map<string, Intl.NumberFormat>();

/** With all minor digits of the currency, and without rounding: what is finer, such as a rate,
 *  shows all its decimals.
 *  @param amount canonical decimal text, possibly negative @param locale BCP 47 */
export function moneyText(locale: string, amount: string, currency: string): string {
  const [, fraction = ''] = amount.split('.');
  const least = minorDigits(currency);
  const most = Math.max(least, fraction.length);
  const key = `${locale} ${currency} ${most}`;
  const format =
    made.get(key) ??
    new Intl.NumberFormat(locale, {
      ...{ style: 'currency', currency },
      ...{ minimumFractionDigits: least, maximumFractionDigits: most },
    });
  made.set(key, format);
  // As text it is formatted exactly: a number would be a float.
  return format.format(amount as Intl.StringNumericLiteral);
}

/** With all minor digits of the currency: `9.50`. @param amount canonical decimal text */
export function withMinorDigits(amount: string, currency: string): string {
  const [whole = '', fraction = ''] = amount.split('.');
  const digits = fraction.padEnd(minorDigits(currency), '0');
  return digits === '' ? whole : `${whole}.${digits}`;
}
