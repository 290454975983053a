/** The open event streams of one process: bounded in number, for each client address too, in age
 *  and in backlog; kept alive by one heartbeat, ended all at once. */
import type { Response } from 'express';
import type { Clock } from '../kit/clock.js';

/** Pages call a stream dead after 25 s of silence. */
const HEARTBEAT_MS = 10_000;
/** A stream ends after this; the page reconnects and learns of changes to its link. */
const MAX_AGE_MS = 15 * 60_000;
/** A reader that leaves this much unread is gone. */
const MAX_BACKLOG_BYTES = 256 * 1024;

interface EventStream {
  /** @param data one line */
  send(event: string, data: string): void;
  end(): void;
}

/** @param fed whether there is news to pass on; without it the streams end, and pages poll. */
export type Streams = ReturnType<typeof createStreams>;

export function createStreams(deps: { clock: Clock; limit: number; limitPerAddress: number; fed: () => boolean }) {
  const { clock, limit, limitPerAddress, fed } = deps;
  const byAddress = new Map<string, number>();
  const open = new Set<EventStream & { openedMs: number }>();
  const closing = new AbortController();
  let beating = false;

  /** Runs while anything is open, and not once it is closing: aborted sleeps would leave the event
   *  loop no time to close anything. */
  async function beat(): Promise<void> {
    if (beating) return;
    beating = true;
    while (open.size > 0 && !closing.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, closing.signal);
      for (const stream of open) {
        if (!fed() || clock.nowMs() - stream.openedMs > MAX_AGE_MS) stream.end();
        else stream.send('beat', String(clock.nowMs()));
      }
    }
    beating = false;
  }

  function count(address: string, change: 1 | -1): void {
    const streams = (byAddress.get(address) ?? 0) + change;
    if (streams > 0) byAddress.set(address, streams);
    else byAddress.delete(address);
  }

  return {
    /** Whether the process is full. */
    closed: (): boolean => closing.signal.aborted || open.size >= limit || !fed(),
    /** Whether this client address has reached its limit of streams. */
    isFull: (address: string): boolean => (byAddress.get(address) ?? 0) >= limitPerAddress,
    /** Answers with an event stream. Resources that end with it listen to the
     *  response's `close`. */
    start(res: Response, address: string): EventStream {
      res.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
      });
      // Spread, so that pages do not all reconnect at once after a restart.
      res.write(`retry: ${Math.round(1000 + 2000 * clock.random())}\n\n`);
      const stream = {
        openedMs: clock.nowMs(),
        send(event: string, data: string) {
          if (res.writableEnded) return;
          res.write(`event: ${event}\ndata: ${data}\n\n`);
          if (res.writableLength > MAX_BACKLOG_BYTES) res.destroy();
        },
        end: () => res.end(),
      };
      open.add(stream);
      count(address, 1);
      res.on('close', () => {
        open.delete(stream);
        count(address, -1);
      });
      void beat();
      return stream;
    },
    close(): void {
      closing.abort();
      for (const stream of open) stream.end();
    },
    count: (): number => open.size,
  };
}
