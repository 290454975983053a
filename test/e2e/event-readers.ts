/** Two readers of an account's events while everything around them dies: one polls by `after`, one
 *  follows the stream. A third webhook gets replays as well. A reader that resumes after the last
 *  number it saw must see every event once. */
import { createClient } from '../../src/index.js';
import { eventually } from '../helpers/service.js';
import type { Killable, Shop } from './kill-rounds.js';

const RETRY_MS = 100;
const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

interface Seen {
  sequence: number;
  id: string;
}

export interface EventReaders {
  /** Asks for everything to be sent again to a webhook of its own. Does nothing while the service
   *  does not answer. */
  replay(): Promise<void>;
  replays(): number;
  /** Waits until both have seen all that is listed. @returns what either saw otherwise than once
   *  and in order */
  faults(): Promise<string[]>;
}

/** @param url of an API that is killed, and comes back there */
export async function startEventReaders(
  t: { teardown(end: () => unknown): void },
  place: Killable,
  shop: Shop,
  url: string,
): Promise<EventReaders> {
  const client = createClient({ url, apiKey: shop.key });
  const [polled, streamed]: [Seen[], Seen[]] = [[], []];
  const lastOf = (seen: readonly Seen[]) => seen.at(-1)?.sequence ?? 0;
  let isOver = false;
  let replays = 0;
  let end: () => void = () => undefined;
  const webhook = await place.call(url, shop.key, 'POST', '/webhooks', {
    name: 'replayed',
    url: `${place.receiver.origin}/replayed`,
    events: ['payment.received', 'payment.completed'],
  });

  const poll = async () => {
    while (!isOver) {
      try {
        const { items } = await client.events.list.query({ after: lastOf(polled), wait: 5, pageSize: 7 });
        polled.push(...items.map(({ sequence, id }) => ({ sequence, id })));
      } catch {
        await sleep(RETRY_MS);
      }
    }
  };
  const follow = () => {
    if (isOver) return;
    const again = () => void sleep(RETRY_MS).then(follow);
    const subscription = client.events.stream.subscribe(
      { after: lastOf(streamed) },
      {
        onData: ({ data: { sequence, id } }) => void streamed.push({ sequence: sequence!, id }),
        onError: again,
        onComplete: again,
      },
    );
    end = () => subscription.unsubscribe();
  };
  void poll();
  follow();
  t.teardown(() => {
    isOver = true;
    end();
  });

  return {
    async replay() {
      const sent = place.call(url, shop.key, 'POST', `/webhooks/${webhook.id}/replay`, { status: 'ALL' });
      await sent.then(
        () => {
          replays += 1;
        },
        () => undefined,
      );
    },
    replays: () => replays,
    async faults() {
      const events: Seen[] = [];
      for (let page = 1, pages = 1; page <= pages; page += 1) {
        const { items, meta } = await client.events.list.query({ page, pageSize: 100 });
        events.push(...items.map(({ sequence, id }) => ({ sequence, id })));
        pages = 'totalPages' in meta ? meta.totalPages : 1;
      }
      events.sort((a, b) => a.sequence - b.sequence);
      const areThrough = async () => polled.length >= events.length && streamed.length >= events.length;
      await eventually(areThrough, 'both readers have everything', 30_000).catch(() => undefined);
      return [...faultsOf('polled', polled, events), ...faultsOf('streamed', streamed, events)];
    },
  };
}

function faultsOf(reader: string, seen: readonly Seen[], expected: readonly Seen[]): string[] {
  const faults = seen.length === expected.length ? [] : [`${reader} ${seen.length} of ${expected.length} events`];
  for (const [index, { sequence, id }] of seen.entries()) {
    if (sequence !== index + 1) faults.push(`${reader} ${sequence} in the place of ${index + 1}`);
    else if (expected[index]?.id !== id)
      faults.push(`${reader} ${id} as ${sequence}, listed as ${expected[index]?.id}`);
  }
  return faults.slice(0, 20);
}
