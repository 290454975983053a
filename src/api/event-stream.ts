/** Server-sent events over REST: writes a stream as fast as its reader takes it, keeps it alive,
 *  and drops a reader that takes nothing any more. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { StreamedEvent } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';

export const EVENT_STREAM = 'text/event-stream';

/** A comment comes after this much silence; the contract promises 30 s. */
const COMMENT_AFTER_MS = 15_000;
const LOOK_MS = 1000;
/** A reader that reads nothing for this long is gone. Its backlog is bounded: one event, and the
 *  socket's buffer. */
const STALLED_AFTER_MS = 60_000;

interface Open {
  res: ServerResponse;
  wroteMs: number;
}

export type EventStreams = ReturnType<typeof createEventStreams>;

export function createEventStreams(clock: Pick<Clock, 'nowMs' | 'sleep' | 'random'>) {
  const streams = new Set<Open>();
  let looking = false;

  /** Checks all streams every second, while there are any. */
  async function lookOn(): Promise<void> {
    if (looking) return;
    looking = true;
    while (streams.size > 0) {
      await clock.sleep(LOOK_MS);
      for (const each of streams) look(each, clock.nowMs());
    }
    looking = false;
  }

  function look(each: Open, nowMs: number): void {
    const { res, wroteMs } = each;
    if (res.writableNeedDrain) {
      if (nowMs - wroteMs > STALLED_AFTER_MS) res.destroy();
    } else if (nowMs - wroteMs >= COMMENT_AFTER_MS) write(each, ':\n\n');
  }

  function write(each: Open, text: string): boolean {
    each.wroteMs = clock.nowMs();
    return each.res.write(text);
  }

  /** Answers with the events. Resolves when the stream has ended or the reader has gone, and leaves
   *  the answer open; rejects with what ended the stream. */
  async function send(req: IncomingMessage, res: ServerResponse, events: AsyncGenerator<StreamedEvent>): Promise<void> {
    res.setHeader('Content-Type', EVENT_STREAM);
    res.setHeader('Cache-Control', 'no-store, no-transform');
    // For proxies that buffer answers.
    res.setHeader('X-Accel-Buffering', 'no');
    if (req.method === 'HEAD') return void (await events.return(undefined));
    const open: Open = { res, wroteMs: 0 };
    streams.add(open);
    void lookOn();
    // Spread, so that readers do not all reconnect at once after a restart.
    write(open, `retry: ${Math.round(1000 + 2000 * clock.random())}\n\n`);
    try {
      for await (const { id, type, data } of events) {
        if (!write(open, `id: ${id}\nevent: ${type}\ndata: ${data}\n\n`)) await drained(res);
        if (res.destroyed) break;
      }
    } finally {
      streams.delete(open);
    }
  }

  return {
    send,
    count: (): number => streams.size,
  };
}

/** Resolves when the buffer has room again or the client has gone. */
function drained(res: ServerResponse): Promise<void> {
  return new Promise((resolve) => {
    const done = () => {
      res.off('drain', done).off('close', done);
      resolve();
    };
    if (res.destroyed) return done();
    res.once('drain', done).once('close', done);
  });
}
