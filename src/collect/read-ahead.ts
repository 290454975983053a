/** Reads pages ahead of whoever stores them. */
import type { CursorDoc, Progress } from '../stores/cursors.js';

interface Page {
  to: Progress;
  /** Another page follows. */
  full: boolean;
}

export interface ReadAhead<P extends Page> {
  /** The pages that have been read since the last call, in their order: at least one, at most `atMost`. From the first call on so many more are read.
   *  @throws what reading throws, once the pages before it are taken. */
  take(atMost: number): Promise<P[]>;
  /** Reads no further. */
  stop(): void;
}

/** @param read the page behind a position. */
export function readAhead<P extends Page>(read: (from: CursorDoc) => Promise<P>, start: CursorDoc): ReadAhead<P> {
  const ready: P[] = [];
  let position = start;
  let atMost = 0;
  let ended = false;
  let reading: Promise<void> | null = null;

  function goOn(): void {
    if (reading || ended || ready.length >= atMost) return;
    reading = read(position).then((page) => {
      ready.push(page);
      position = { ...position, ...page.to };
      ended ||= !page.full;
      reading = null;
      goOn();
    });
    // Whoever never comes to take it need not hear of its failure.
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
