/** A client in its own process: sends requests about random subjects for a while, and prints how
 *  many answers came a second, and their times in milliseconds. */
import { Agent, request } from 'undici';
import { sequence } from './random.js';

export interface LoadPlan {
  url: string;
  method: 'GET' | 'POST';
  body?: string;
  /** Replace `{id}` in the URL or body; each with its account's key. */
  subjects: readonly { id: string; apiKey: string }[];
  connections: number;
  ms: number;
}

const { url, method, body, subjects, connections, ms } = JSON.parse(process.argv[2]!) as LoadPlan;
const random = sequence();
const dispatcher = new Agent({ connections, pipelining: 1 });
const endMs = performance.now() + ms;
const times: number[] = [];
await Promise.all(
  Array.from({ length: connections }, async () => {
    while (performance.now() < endMs) {
      const { id, apiKey } = subjects[Math.floor(random() * subjects.length)]!;
      const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' };
      const sent = body === undefined ? {} : { body: body.replace('{id}', id) };
      const from = performance.now();
      const answer = await request(url.replace('{id}', id), { method, headers, dispatcher, ...sent });
      const text = await answer.body.text();
      if (answer.statusCode >= 300) throw new Error(`${answer.statusCode} ${text.slice(0, 300)}`);
      times.push(performance.now() - from);
    }
  }),
);
times.sort((a, b) => a - b);
const at = (share: number) => times[Math.floor(times.length * share)];
console.log(JSON.stringify({ perSecond: (times.length / ms) * 1000, p50: at(0.5), p99: at(0.99) }));
await dispatcher.close();
