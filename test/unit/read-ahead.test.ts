/** Pages read ahead come in order, each once, and never more of them than were asked for. */
import fc from 'fast-check';
import t from 'tap';
import type { CursorDoc } from '../../src/watching/cursors.js';
import { readAhead } from '../../src/watching/stream-reader.js';

const start = { cursor: '0' } as CursorDoc;
const numberOf = ({ cursor }: { cursor: string }) => Number(cursor);

/** Pages 1 … `count`, each after some turns of the event loop; page `broken` cannot be read. */
function source(count: number, turns: readonly number[], broken = 0) {
  const told = { asked: 0 };
  const read = async (from: CursorDoc) => {
    const n = numberOf(from) + 1;
    told.asked = n;
    for (let turn = 0; turn < turns[n % turns.length]!; turn++) await new Promise(setImmediate);
    if (n === broken) throw new Error(`page ${n}`);
    return { to: { cursor: String(n) } as never, full: n < count };
  };
  return { told, read };
}

t.test('pages come in order, each once, whether reading or storing is slower', async (t) => {
  const turns = fc.array(fc.nat(4), { minLength: 1, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(
      fc.integer({ min: 1, max: 30 }),
      turns,
      turns,
      fc.integer({ min: 1, max: 6 }),
      async (...given) => {
        const [count, reading, storing, atMost] = given;
        const { told, read } = source(count, reading);
        const ahead = readAhead(read, start);
        const got: number[] = [];
        for (let full = true; full; ) {
          const pages = await ahead.take(atMost);
          if (pages.length === 0 || pages.length > atMost) throw new Error(`${pages.length} pages`);
          got.push(...pages.map(({ to }) => numberOf(to)));
          full = pages.at(-1)!.full;
          for (let turn = 0; turn < storing[got.length % storing.length]!; turn++) await new Promise(setImmediate);
          if (told.asked > got.length + atMost) throw new Error(`page ${told.asked} was asked for after ${got.length}`);
        }
        t.same(
          got,
          Array.from({ length: count }, (_, n) => n + 1),
        );
      },
    ),
  );
});

t.test('pages before one that cannot be read are taken, then its failure is heard', async (t) => {
  const { read } = source(9, [0], 4);
  const ahead = readAhead(read, start);
  const got: number[] = [];
  await t.rejects(
    async () => {
      for (;;) got.push(...(await ahead.take(8)).map(({ to }) => numberOf(to)));
    },
    { message: 'page 4' },
  );
  t.same(got, [1, 2, 3]);
});

t.test('nothing is asked for after the end, and a failure that is not awaited is no unhandled rejection', async (t) => {
  const { told, read } = source(9, [0], 2);
  const ahead = readAhead(read, start);
  t.equal((await ahead.take(1)).length, 1);
  ahead.stop();
  for (let turn = 0; turn < 20; turn++) await new Promise(setImmediate);
  t.ok(told.asked <= 2);
});
