/** Reads the next pages while earlier ones are being stored. */
import type { CursorDoc, Progress } from './cursors.js';

interface Page {
  to: Progress;
  /** Another page follows. */
  full: boolean;
}

interface ReadAhead<P extends Page> {
  /** Takes the pages read since the last call, in order: at least one, at most `atMost`. As many more are then read ahead.
   *  @throws what reading throws, once the pages before it are taken. */
  take(atMost: number): Promise<P[]>;
  /** Ends the reading. */
  stop(): void;
}

/** @param read reads the page after a cursor. */
export function readAhead<P extends Page>(read: (from: CursorDoc) => Promise<P>, start: CursorDoc): ReadAhead<P> {
  const ready: P[] = [];
  let cursor = start;
  let atMost = 0;
  let ended = false;
  let reading: Promise<void> | null = null;

  function goOn(): void {
    if (reading || ended || ready.length >= atMost) return;
    reading = read(cursor).then((page) => {
      ready.push(page);
      cursor = { ...cursor, ...page.to };
      ended ||= !page.full;
      reading = null;
      goOn();
    });
    // `take` reports failures; unhandled here, one would end the process.
    reading.catch(() => undefined);
  }

  return {
    async take(wanted) {
      atMost = wanted;
      goOn();
      if (ready.length === 0) await reading;
      const taken = ready.splice(0, atMost);
      goOn();
      return taken;
    },
    stop() {
      ended = true;
    },
  };
}
