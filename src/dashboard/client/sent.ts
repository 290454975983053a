/** Changes whose answer has not come: each is sent again as it was, under the Idempotency-Key of
 *  its first time, so that it makes one thing. A reload of the tab forgets none. */
import type { Failure } from './api.js';

interface Sent<Input> {
  key: string;
  input: Input;
}

const PREFIX = 'sent ';
/** They leave open whether the change was made. */
const OPEN_CODES: readonly Failure['code'][] = ['unreachable', 'internal', 'unavailable'];
/** They end even a change whose first answer was lost: as it is, it is taken no more. */
const FINAL_CODES: readonly Failure['code'][] = ['validation_error', 'bad_request', 'not_found'];

/** @param filled what makes two changes the same: the input without the times that follow from
 *  the moment
 *  @param codeOf of a failure of `send` */
export async function sendOnce<Input, Made>(
  { name, filled, input }: { name: string; filled: unknown; input: Input },
  send: (input: Input, key: string) => Promise<Made>,
  codeOf: (error: unknown) => Failure['code'],
): Promise<Made> {
  if (isSameTwice(name, input)) return send(input, newKey());
  const place = `${PREFIX}${name} ${JSON.stringify(filled)}`;
  const before = kept.get<Sent<Input>>(place);
  const sent = before ?? { key: newKey(), input };
  kept.set(place, sent);
  try {
    const made = await send(sent.input, sent.key);
    kept.delete(place);
    return made;
  } catch (error) {
    const code = codeOf(error);
    if (before ? FINAL_CODES.includes(code) : !OPEN_CODES.includes(code)) kept.delete(place);
    throw error;
  }
}

/** Sets fields to values: however often it is sent, and even where the first answer was lost, what
 *  is shown afterwards is what was sent last. */
const isSameTwice = (name: string, input: unknown): boolean =>
  name.endsWith('.update') && !Object.hasOwn(input as object, 'stockChange');

/** At the end of a session: what it sent may hold data of customers. */
export const forgetSent = (): void => kept.clear();

/** Only https and localhost have `crypto.randomUUID`. */
const newKey = (): string =>
  Array.from(crypto.getRandomValues(new Uint8Array(16)), (byte) => byte.toString(16).padStart(2, '0')).join('');

/** The tab's storage; browsers may refuse it, and then this page's memory does. */
const kept = (() => {
  const memory = new Map<string, string>();
  const stored = <T>(act: (storage: Storage) => T): T | null => {
    try {
      return act(sessionStorage);
    } catch {
      return null;
    }
  };
  return {
    get<Value>(place: string): Value | null {
      const text = memory.get(place) ?? stored((storage) => storage.getItem(place));
      return text == null ? null : (JSON.parse(text) as Value);
    },
    set(place: string, value: unknown): void {
      memory.set(place, JSON.stringify(value));
      stored((storage) => storage.setItem(place, JSON.stringify(value)));
    },
    delete(place: string): void {
      memory.delete(place);
      stored((storage) => storage.removeItem(place));
    },
    clear(): void {
      memory.clear();
      stored((storage) => {
        for (const place of Object.keys(storage)) if (place.startsWith(PREFIX)) storage.removeItem(place);
      });
    },
  };
})();
