import fc from 'fast-check';
import t from 'tap';
import { TypeID } from 'typeid-js';
import { validate, version } from 'uuid';
import { idPattern } from '../../contracts/primitives.js';
import { systemClock } from '../../src/kit/clock.js';
import { createdAtOf, createIds, firstIdOf, ID_PREFIXES } from '../../src/kit/ids.js';

const moments = fc.integer({ min: 0, max: 2 ** 48 - 1 });
/** Times of a clock that stands still, leaps and is set back. */
const readings = fc.array(fc.oneof(moments, fc.constant(1_800_000_000_000)), { minLength: 1, maxLength: 400 });

t.test(
  'ids of one process sort in the order in which they were made, whatever the clock does, and none comes twice',
  (t) => {
    fc.assert(
      fc.property(readings, (nowMs) => {
        let at = 0;
        const newId = createIds({ ...systemClock, nowMs: () => nowMs[at]! });
        const ids = nowMs.map((_, n) => {
          at = n;
          return newId('pay');
        });
        return ids.every((id, n) => n === 0 || ids[n - 1]! < id);
      }),
    );
    t.end();
  },
);

t.test('an id is a TypeID of a UUID of version 7, and tells the moment of its making', (t) => {
  fc.assert(
    fc.property(moments, fc.constantFrom(...ID_PREFIXES), (nowMs, prefix) => {
      const id = createIds({ ...systemClock, nowMs: () => nowMs })(prefix);
      const read = TypeID.fromString(id, prefix);
      const uuid = read.toUUID();
      return (
        idPattern(prefix).test(id) &&
        read.getType() === prefix &&
        validate(uuid) &&
        version(uuid) === 7 &&
        createdAtOf(id).getTime() === nowMs
      );
    }),
  );
  t.end();
});

t.test('the first id of a moment parts those before it from those of it and after it', (t) => {
  fc.assert(
    fc.property(moments, moments, (momentMs, madeMs) => {
      const id = createIds({ ...systemClock, nowMs: () => madeMs })('evt');
      return id >= firstIdOf('evt', new Date(momentMs)) === madeMs >= momentMs;
    }),
  );
  t.equal(createdAtOf(firstIdOf('evt', new Date(-1))).getTime(), 0);
  t.equal(createdAtOf(firstIdOf('evt', new Date(8.64e15))).getTime(), 2 ** 48 - 1);
  t.end();
});
