/** How long lists are cut: the number of segments is what a total costs, the size of one what a
 *  change in it costs. */
import t from 'tap';
import { roomOfNext } from '../../src/kit/count-segments.js';

function cut(ids: number): { segments: number; largest: number } {
  let [segments, room, left] = [1, roomOfNext(0), ids];
  while (left >= room) {
    left -= room;
    room = roomOfNext(segments);
    segments += 1;
  }
  return { segments, largest: room };
}

t.test('segments and their size grow with the square root of the list', async (t) => {
  t.same(cut(2499), { segments: 1, largest: 2500 });
  t.same(cut(2500), { segments: 2, largest: 2500 });
  t.same(cut(500_000), { segments: 201, largest: 2500 });
  for (const ids of [1e6, 1e7, 1e8]) {
    const { segments, largest } = cut(ids);
    const root = Math.sqrt(ids);
    t.ok(segments < 0.5 * root, `${ids} ids: ${segments} segments`);
    t.ok(largest < 6 * root, `${ids} ids: at most ${largest} in one`);
  }
});
