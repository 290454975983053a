/** The webhook endpoints of the merchants: they answer, fail, hang or are gone, and record
 *  every request. */
import type { Poster, PostResult } from '../../src/webhooks/poster.js';
import type { Random } from './random.js';
import type { Process, Scheduler } from './scheduler.js';

export interface Arrival {
  url: string;
  eventId: string;
  body: { id: string; type: string; data: { payment: { id: string } } };
  headers: Readonly<Record<string, string>>;
  text: string;
  startedMs: number;
  /** Null until the sender has the answer; stays null when the sender died. */
  endedMs: number | null;
  answered: number | null;
  sender: Process;
}

export interface EndpointState {
  failing: number;
  hanging: number;
  gone: number;
}

export type Receiver = ReturnType<typeof createReceiver>;

export function createReceiver({
  random,
  scheduler,
  timeoutMs,
}: {
  random: Random;
  scheduler: Scheduler;
  timeoutMs: number;
}) {
  const arrivals: Arrival[] = [];
  const endpoints = new Map<string, EndpointState>();
  let isCalm = false;
  return {
    arrivals,
    endpoints,
    /** From now on all requests are answered well. */
    endFaults: () => {
      isCalm = true;
    },
    posterOf: (process: Process): Poster => ({
      close: async () => undefined,
      post: (url, headers, body) =>
        new Promise<PostResult>((resolve) => {
          const startedMs = scheduler.nowMs();
          const { failing, hanging, gone } = isCalm ? { failing: 0, hanging: 0, gone: 0 } : endpoints.get(url)!;
          const draw = random.next();
          const hangs = draw < hanging;
          const status =
            draw < hanging
              ? null
              : draw < hanging + failing
                ? random.pick([500, 503, 301, 404])
                : draw < hanging + failing + gone
                  ? 410
                  : 204;
          const latencyMs = hangs ? timeoutMs : random.between(1, isCalm ? 20 : 400);
          const text = body.toString();
          const payload = JSON.parse(text);
          scheduler.enqueue({
            label: `POST ${url} ${payload.type} ${payload.id.slice(-6)} → ${status ?? 'nothing'}`,
            process,
            readyMs: startedMs + random.between(0, 50),
            mayCrash: true,
            heardAfterMs: latencyMs,
            run: () => {
              const arrival: Arrival = {
                url,
                eventId: headers['webhook-id']!,
                body: payload,
                headers,
                text,
                startedMs,
                endedMs: null,
                answered: status,
                sender: process,
              };
              arrivals.push(arrival);
              return () => {
                arrival.endedMs = scheduler.nowMs();
                const error = status === null ? 'timed out' : status === 204 ? null : `answered ${status}`;
                resolve({ responseStatus: status, error, retryAfterMs: null, durationMs: arrival.endedMs - startedMs });
              };
            },
          });
        }),
    }),
  };
}
