/** Stores events of an account without the payments that would cause them, like the watcher; the
 *  service's own sequencer numbers them. */

import type { EventDoc } from '../../src/events/event-store.js';
import { systemClock as clock } from '../../src/kit/clock.js';
import { connectDatabase } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import { createStores } from '../../src/stores.js';
import { sampleEvent } from '../../src/webhooks/webhooks.js';

const newId = createIds(clock);
type Type = 'payment.received' | 'payment.completed';

export interface Happenings {
  /** Stores one event of each type, each about its own payment. */
  happen(accountId: string, ...types: Type[]): Promise<EventDoc[]>;
}

export async function createHappenings(t: { teardown(end: () => unknown): void }, uri: string): Promise<Happenings> {
  const { connection, transaction, close } = await connectDatabase(uri);
  const stores = createStores(connection, { clock, newId });
  t.teardown(close);
  return {
    async happen(accountId, ...types) {
      const events = types.map((type): EventDoc => {
        const event = sampleEvent(newId, clock.now(), 'https://pay.example');
        const subjectId = JSON.parse(event.data).payment.id as string;
        return { ...event, type, sequence: 0, accountId, subjectId, occurrence: '' };
      });
      await transaction((session) => stores.system.events.insert(events, session));
      return events;
    },
  };
}

export interface Sse {
  status: number;
  headers: Headers;
  /** Received blocks, with comments and fields as sent, without the blank lines. */
  blocks: string[];
  /** The events among the blocks. */
  events(): { id: number; event: string; data: any }[];
  /** Resolves once `count` events have arrived. */
  until(count: number): Promise<void>;
  /** Resolves when the server has ended the stream. */
  ended: Promise<void>;
  hangUp(): void;
}

/** Reads a stream of server-sent events over plain HTTP. */
export async function openSse(url: string, apiKey: string, headers: Record<string, string> = {}): Promise<Sse> {
  const hungUp = new AbortController();
  const response = await fetch(url, {
    headers: { authorization: `Bearer ${apiKey}`, ...headers },
    signal: hungUp.signal,
  });
  const blocks: string[] = [];
  let wake: () => void = () => undefined;
  const read = async () => {
    let rest = '';
    const decoder = new TextDecoder();
    for await (const chunk of response.body!) {
      const parts = (rest + decoder.decode(chunk, { stream: true })).split('\n\n');
      rest = parts.pop()!;
      blocks.push(...parts);
      wake();
    }
  };
  const ended = read().catch(() => undefined);
  const fieldOf = (block: string, name: string) => new RegExp(`^${name}: (.*)$`, 'm').exec(block)?.[1];
  const events = () =>
    blocks
      .filter((block) => block.startsWith('id: '))
      .map((block) => ({
        id: Number(fieldOf(block, 'id')),
        event: fieldOf(block, 'event')!,
        data: JSON.parse(fieldOf(block, 'data')!),
      }));
  return {
    status: response.status,
    headers: response.headers,
    blocks,
    events,
    async until(count) {
      const end = Date.now() + 10_000;
      while (events().length < count) {
        if (Date.now() > end) throw new Error(`${events().length} of ${count} events came`);
        await new Promise<void>((resolve) => {
          wake = resolve;
          setTimeout(resolve, 100);
        });
      }
    },
    ended,
    hangUp: () => hungUp.abort(),
  };
}
