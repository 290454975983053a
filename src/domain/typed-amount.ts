/** Reads an amount as people type it: digits of any script, the separators of their language, a
 *  unit beside it. Runs in the browser too. What may mean two amounts is never guessed. */

export type TypedAmount =
  | { state: 'none' }
  /** `amount`: plain digits with a point, without superfluous leading zeros; of any size and with
   *  any number of decimals. */
  | { state: 'number'; amount: string }
  /** A separator that may end the whole part or group it. Both readings, as this language writes
   *  them without doubt. */
  | { state: 'ambiguous'; whole: string; decimal: string }
  | { state: 'wrong' };

/** A number of so many digits is too large, not wrong; a stranger may send a hundred thousand. */
const MAX_TYPED = 5000;

/** @param locale BCP 47, of the reader @param unit that may stand beside the number: a currency, an
 *  asset's code, `%` */
export function readTyped(written: string, { locale, unit }: { locale: string; unit: string }): TypedAmount {
  if (written.length > MAX_TYPED) return { state: 'wrong' };
  const plain = inDigits(written);
  if (plain === '') return { state: 'none' };
  const number = withoutUnit(plain, unit, locale).replace(/\s*([.,٫'])\s*/gu, '$1');
  if (!/^[\d .,٫']+$/u.test(number)) return { state: 'wrong' };
  const point = decimalOf(locale);
  const last = /[.,٫](?=[^.,٫]*$)/u.exec(number);
  const mark = last?.[0] ?? null;
  const isRepeated = mark !== null && number.indexOf(mark) !== last!.index;
  const [head, tail] =
    mark === null || isRepeated ? [number, null] : [number.slice(0, last!.index), number.slice(last!.index + 1)];
  if (tail !== null && !/^\d*$/.test(tail)) return { state: 'wrong' };
  const whole = ungrouped(head);
  if (whole === null) return { state: 'wrong' };
  if (mark !== point && mark !== '٫' && isGroup(head, tail)) {
    return { state: 'ambiguous', whole: whole + tail, decimal: `${whole}${point}${tail}` };
  }
  return { state: 'number', amount: `${whole}${tail ? `.${tail}` : ''}` };
}

/** A number that every language reads alike: three decimals behind a point would be thousands in
 *  some. @param amount canonical decimal text */
export const readAlike = (amount: string): string => amount.replace(/\.(\d{3})$/, '.$10');

/** A single separator before three digits: `1,000`. */
const isGroup = (head: string, tail: string | null): boolean => tail?.length === 3 && /^[1-9]\d{0,2}$/.test(head);

/** Groups are of three digits, or in India of two before the last three, and all by one separator.
 *  Null for other ones. */
function ungrouped(head: string): string | null {
  const [mark] = /\D/u.exec(head) ?? [];
  const groups = mark === undefined ? [head] : head.split(mark);
  const isWhole = groups.every((group, index) => /^\d*$/.test(group) && isGroupLength(group.length, index, groups));
  return isWhole ? groups.join('').replace(/^0+(?=\d)/, '') || '0' : null;
}

function isGroupLength(length: number, index: number, groups: readonly string[]): boolean {
  if (groups.length === 1) return true;
  if (index === 0) return length > 0 && length <= 3;
  return length === 3 || (length === 2 && index < groups.length - 1);
}

/** Marks of direction, and spaces around. */
const UNSEEN = /\p{Cf}/gu;
const OTHER_MARKS: Readonly<Record<string, string>> = { '،': ',', '、': ',', '。': '.', '’': "'", '٬': "'" };

/** With the digits 0 to 9, and one character for each meaning of a separator. */
const inDigits = (text: string): string =>
  text
    .normalize('NFKC')
    .replace(UNSEEN, '')
    .replace(/[^\P{Nd}0-9]/gu, digitOf)
    .replace(/[،、。’٬]/gu, (mark) => OTHER_MARKS[mark]!)
    .replace(/\s+/gu, ' ')
    .trim();

/** Unicode has the digits of each script in a row from 0 to 9. */
function digitOf(digit: string): string {
  const code = digit.codePointAt(0)!;
  let first = code;
  while (/\p{Nd}/u.test(String.fromCodePoint(first - 1))) first -= 1;
  return String((code - first) % 10);
}

const decimalOf = (locale: string): string =>
  new Intl.NumberFormat(locale).formatToParts(0.5).find(({ type }) => type === 'decimal')!.value;

/** The unit may stand before or behind, by its code, its symbol or its name in this language. */
function withoutUnit(text: string, unit: string, locale: string): string {
  for (const spelling of spellingsOf(unit, locale)) {
    const given = inDigits(spelling).toLowerCase();
    const lower = text.toLowerCase();
    // A code that begins or ends with a digit is told from the number by a space.
    if (lower.endsWith(given) && given !== '' && (/^\D/u.test(given) || lower.endsWith(` ${given}`)))
      return text.slice(0, text.length - given.length).trim();
    if (lower.startsWith(given) && given !== '' && /\D$/u.test(given)) return text.slice(given.length).trim();
  }
  return text;
}

/** Every code of three letters has a name for `Intl`, at least its own. */
function spellingsOf(unit: string, locale: string): string[] {
  if (!/^[A-Z]{3}$/.test(unit)) return [unit];
  const names = (['symbol', 'narrowSymbol', 'name'] as const).flatMap((currencyDisplay) =>
    [1, 2, 5].map(
      (count) =>
        new Intl.NumberFormat(locale, { style: 'currency', currency: unit, currencyDisplay })
          .formatToParts(count)
          .find(({ type }) => type === 'currency')!.value,
    ),
  );
  return [unit, ...new Set(names)].sort((a, b) => b.length - a.length);
}
