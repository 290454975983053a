/** Memos as Horizon shows them. Text is scrubbed as in Go, so that `memo` loses the same here as
 *  in Horizon. */
import type { xdr } from '@stellar/stellar-sdk/base';

export interface MemoFields {
  memo?: string;
  memo_bytes?: string;
  memo_type: 'none' | 'text' | 'id' | 'hash' | 'return';
}

export function memoFields(memo: xdr.Memo): MemoFields {
  switch (memo.type) {
    case 'memoText': {
      const bytes = Buffer.from(memo.text.bytes);
      return { memo: scrub(bytes), memo_bytes: bytes.toString('base64'), memo_type: 'text' };
    }
    case 'memoId':
      return { memo: memo.id.toString(), memo_type: 'id' };
    case 'memoHash':
      return { memo: memo.hash.toXdr('base64'), memo_type: 'hash' };
    case 'memoReturn':
      return { memo: memo.retHash.toXdr('base64'), memo_type: 'return' };
    default:
      return { memo_type: 'none' };
  }
}

/** Each undecodable byte becomes one U+FFFD, as in Go's rune loop (TextDecoder would merge some),
 *  and NUL bytes vanish. */
export function scrub(bytes: Uint8Array): string {
  let text = '';
  for (let at = 0; at < bytes.length; ) {
    const size = runeSize(bytes, at);
    if (size === 0) {
      text += '\uFFFD';
      at += 1;
    } else {
      text += Buffer.from(bytes.subarray(at, at + size)).toString('utf8');
      at += size;
    }
  }
  return text.replaceAll('\0', '');
}

/** The length of the well-formed UTF-8 sequence at `at` (RFC 3629: no overlong forms, no
 *  surrogates), or 0. */
function runeSize(bytes: Uint8Array, at: number): number {
  const first = bytes[at]!;
  if (first < 0x80) return 1;
  const size =
    first >= 0xc2 && first <= 0xdf ? 2 : first >= 0xe0 && first <= 0xef ? 3 : first >= 0xf0 && first <= 0xf4 ? 4 : 0;
  if (size === 0) return 0;
  const lowest = first === 0xe0 ? 0xa0 : first === 0xf0 ? 0x90 : 0x80;
  const highest = first === 0xed ? 0x9f : first === 0xf4 ? 0x8f : 0xbf;
  for (let index = 1; index < size; index++) {
    const byte = bytes[at + index];
    if (byte === undefined || byte < (index === 1 ? lowest : 0x80) || byte > (index === 1 ? highest : 0xbf)) return 0;
  }
  return size;
}
