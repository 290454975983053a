/** The open event streams of one process: bounded in number, age and backlog, kept alive by one heartbeat for all, ended all at once. */
import type { Response } from 'express';
import type { Clock } from '../clock.js';

/** Pages call a stream dead after 25 s of silence. */
const HEARTBEAT_MS = 10_000;
/** Then the page connects anew, and learns what has changed about its link. */
const MAX_AGE_MS = 15 * 60_000;
/** A reader that leaves this much unread is gone. */
const MAX_BACKLOG_BYTES = 256 * 1024;

export interface EventStream {
  send(event: string, data: unknown): void;
  end(): void;
}

/** @param fed whether there is news to pass on; without it the streams end, and pages poll. */
export function createStreams({ clock, limit, fed }: { clock: Clock; limit: number; fed: () => boolean }) {
  const open = new Set<EventStream & { openedMs: number }>();
  const closing = new AbortController();
  let beating = false;

  /** Runs while anything is open, and not once it is closing: aborted sleeps would leave the event loop no time to close anything. */
  async function beat(): Promise<void> {
    if (beating) return;
    beating = true;
    while (open.size > 0 && !closing.signal.aborted) {
      await clock.sleep(HEARTBEAT_MS, closing.signal);
      for (const stream of open) {
        if (!fed() || clock.nowMs() - stream.openedMs > MAX_AGE_MS) stream.end();
        else stream.send('beat', clock.nowMs());
      }
    }
    beating = false;
  }

  return {
    /** Whether another stream would be turned away. */
    closed: (): boolean => closing.signal.aborted || open.size >= limit || !fed(),
    /** Answers with an event stream. Everything that must end with it listens to the response's `close`. */
    start(res: Response): EventStream {
      res.writeHead(200, {
        'content-type': 'text/event-stream',
        'cache-control': 'no-store, no-transform',
        'x-accel-buffering': 'no',
      });
      // Spread, so that pages do not all come back at once after a restart.
      res.write(`retry: ${Math.round(1000 + 2000 * clock.random())}\n\n`);
      const stream = {
        openedMs: clock.nowMs(),
        send(event: string, data: unknown) {
          if (res.writableEnded) return;
          res.write(`event: ${event}\ndata: ${JSON.stringify(data)}\n\n`);
          if (res.writableLength > MAX_BACKLOG_BYTES) res.destroy();
        },
        end: () => res.end(),
      };
      open.add(stream);
      res.on('close', () => open.delete(stream));
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
