/** Loops and leases, on a clock that is moved by hand. */
import { pino } from 'pino';
import t from 'tap';
import { whileHeld } from '../../src/kit/leases.js';
import { createLoop } from '../../src/kit/loop.js';
import { manualClock } from '../helpers/manual-clock.js';

async function settle(): Promise<void> {
  for (let turns = 0; turns < 5; turns++) await new Promise((resolve) => setImmediate(resolve));
}

t.test(
  'a wake-up cuts a rest short, also one that comes while a step goes on, and no rest after an error',
  async (t) => {
    const clock = manualClock();
    const ended = new AbortController();
    const woken: boolean[] = [];
    let during = () => {};
    const loop = createLoop({
      async step(_signal, wasWoken) {
        woken.push(wasWoken);
        during();
        return 1000;
      },
      onError: () => 500,
      clock,
    });
    const running = loop.run(ended.signal);
    await settle();
    t.strictSame(woken, [false]);
    loop.wake();
    await settle();
    t.strictSame(woken, [false, true]);

    during = () => {
      during = () => {};
      loop.wake();
    };
    clock.advance(1000);
    await settle();
    t.strictSame(woken.slice(2), [false, true]);

    during = () => {
      during = () => {};
      throw new Error('of the step');
    };
    clock.advance(1000);
    await settle();
    loop.wake();
    clock.advance(499);
    await settle();
    t.equal(woken.length, 5, 'what fails is not tried again and again');
    clock.advance(1);
    await settle();
    t.equal(woken.length, 6);
    ended.abort();
    await running;
  },
);

t.test('work under a lease ends when another process has it, not when a renewal fails', async (t) => {
  const clock = manualClock();
  const answers: (boolean | Error)[] = [true, new Error('MongoDB is away'), true, false];
  const asked: string[] = [];
  const lease = {
    leases: {
      async hold(name: string, holder: string, ms: number) {
        asked.push(`${name} ${holder} ${ms}`);
        const answer = answers.shift() ?? false;
        if (answer instanceof Error) throw answer;
        return answer;
      },
      release: async (name: string, holder: string) => void asked.push(`released ${name} ${holder}`),
    },
    ...{ name: 'work', holder: 'me', ms: 3000, clock, log: pino({ level: 'silent' }) },
  };
  const held: AbortSignal[] = [];
  const working = whileHeld(lease, new AbortController().signal, async (signal) => {
    held.push(signal);
    await clock.sleep(60_000, signal);
    return 'done';
  });
  for (const isLost of [false, false, true]) {
    await settle();
    clock.advance(1000);
    await settle();
    t.equal(held[0]!.aborted, isLost);
  }
  t.equal(await working, 'done');
  t.strictSame(asked, [...Array(4).fill('work me 3000'), 'released work me']);
  t.equal(await whileHeld(lease, new AbortController().signal, async () => 'never'), null, 'nor does it begin');
});
