/** `events tail`: an account's events on stdout, a line of JSON each, as they are numbered. A
 *  break, a slow reader or a restart of the service leaves none out: it goes on after the
 *  last sequence. */
import { once } from 'node:events';
import type { Writable } from 'node:stream';
import { type Command, InvalidArgumentError, Option } from 'commander';
import { EVENT_TYPES } from '../../contracts/event-kinds.js';
import type { WebhookPayload } from '../../contracts/events.js';
import { createClient } from '../client/index.js';
import type { Clock } from '../kit/clock.js';
import { answeredError, refusal, toHttpUrl } from './service.js';

/** After what is no break of the connection, which the client itself mends. */
const RETRY_MS = 2000;
/** More is not fetched for a reader that is slower than the service. */
const MAX_WAITING_BYTES = 256 * 1024;
/** They do not go away by themselves. */
const FINAL_CODES = new Set(['unauthorized', 'forbidden', 'bad_request', 'not_found']);

interface TailOptions {
  key: string;
  url?: string;
  after?: number;
  type?: WebhookPayload['type'][];
}

export function registerEventCommands(program: Command, deps: { clock: Clock; settings: () => { url: string } }): void {
  const events = program.command('events').description('events of an account');

  events
    .command('tail')
    .description('print events as lines of JSON, each as it is numbered, until Ctrl-C')
    .requiredOption('--key <key>', 'API key of the account; scope READ is enough')
    .option('--url <url>', 'the running service; the configured one by default', toHttpUrl)
    .option(
      '--after <sequence>',
      'begin after this number, 0 for the first event; without it with the next one',
      toSequence,
    )
    .addOption(new Option('--type <type...>', 'only these').choices([...EVENT_TYPES]))
    .action(async ({ key, url, after, type }: TailOptions) => {
      const service = url ?? deps.settings().url;
      const stopped = new AbortController();
      const stop = () => stopped.abort();
      for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, stop);
      // The reader of stdout has gone, as `head` does.
      process.stdout.once('error', stop);
      await tailEvents({
        service,
        key,
        after,
        wants: ({ type: of }) => type === undefined || type.includes(of),
        out: process.stdout,
        onBreak: (last) => process.stderr.write(`connection lost; continuing after ${last}\n`),
        signal: stopped.signal,
        clock: deps.clock,
      });
    });
}

function toSequence(text: string): number {
  if (/^\d{1,15}$/.test(text)) return Number(text);
  throw new InvalidArgumentError('Must be the sequence of an event, or 0.');
}

/** Ends with `signal`. @throws Error of one line when the service does not answer at the start,
 *  or refuses */
export async function tailEvents(options: {
  service: string;
  key: string;
  /** Absent: begins with the next event. */
  after?: number;
  wants: (event: WebhookPayload) => boolean;
  out: Writable;
  onBreak: (last: number) => void;
  signal: AbortSignal;
  clock: Pick<Clock, 'sleep'>;
}): Promise<void> {
  const { service, key, after, wants, out, onBreak, signal, clock } = options;
  const collect = createClient({ url: service, apiKey: key });
  const newest = async () => (await collect.events.list.query({ pageSize: 1 })).items[0]?.sequence ?? 0;
  const first = await newest().catch((error: unknown) => {
    throw refusal(error, service, 'the key');
  });
  let last = after ?? first;
  let isBroken = false;
  const broke = () => {
    if (!isBroken) onBreak(last);
    isBroken = true;
  };

  /** @returns what the stream ended with; null when it was ended here */
  const follow = () =>
    new Promise<Error | null>((resolve) => {
      const end = (error: Error | null) => {
        // Before it is unsubscribed, which completes it.
        resolve(error);
        signal.removeEventListener('abort', stop);
        subscription.unsubscribe();
      };
      const stop = () => end(null);
      let wasConnected = false;
      const subscription = collect.events.stream.subscribe(
        { after: last },
        {
          onData: ({ id, data }) => {
            last = Number(id);
            if (wants(data)) out.write(`${JSON.stringify(data)}\n`);
            if (out.writableLength > MAX_WAITING_BYTES) stop();
          },
          onConnectionStateChange: ({ state }) => {
            if (wasConnected && state === 'connecting') broke();
            wasConnected = state === 'pending';
            if (wasConnected) isBroken = false;
          },
          onError: (error) => end(error),
          onComplete: () => end(new Error('ended')),
        },
      );
      signal.addEventListener('abort', stop, { once: true });
    });

  while (!signal.aborted) {
    const broken = await follow();
    if (out.writableNeedDrain && !signal.aborted) await once(out, 'drain', { signal }).catch(() => undefined);
    if (broken === null) continue;
    const answer = answeredError(await newest().catch((error: unknown) => error));
    if (answer && FINAL_CODES.has(answer.code)) throw new Error(`${service} ended the stream: ${answer.message}`);
    broke();
    await clock.sleep(RETRY_MS, signal);
  }
}
