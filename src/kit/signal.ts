/** Wake-ups inside one process. A signal only saves a wait: its listeners also look by themselves, at their interval, so a signal that is never raised,
 *  as when another process stored something, costs time and loses nothing. Any number of sources may raise the same one. */
interface Signal {
  raise: () => void;
  on(listener: () => void): void;
}

/** The signals of a process. */
export interface Signals {
  /** Events, or replays of them, wait for their numbers and deliveries. */
  eventsStored: Signal;
  /** Deliveries have become due. */
  deliveriesDue: Signal;
  /** Proofs of payments were asked for. */
  proofsAsked: Signal;
}

export const createSignals = (): Signals => ({
  eventsStored: createSignal(),
  deliveriesDue: createSignal(),
  proofsAsked: createSignal(),
});

function createSignal(): Signal {
  const listeners: (() => void)[] = [];
  return {
    raise: () => {
      for (const listener of listeners) listener();
    },
    on: (listener) => void listeners.push(listener),
  };
}
