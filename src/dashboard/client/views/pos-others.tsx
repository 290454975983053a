/** Sales of this till that left the screen before they were over: none is paid unseen. Their ids
 *  are in the browser's storage, which outlasts the app. */
import { useEffect, useState } from 'preact/hooks';
import { type Output, useReads, useSession } from '../api.js';
import { priceText } from '../format.js';
import { Badge } from '../parts/bits.js';
import { t } from '../texts/texts.js';
import { CHECKOUT_STATUS } from '../words.js';

type Checkout = Output<'checkouts.get'>;

const LOOK_MS = 3_000;
const MOST = 20;

export interface Begun {
  ids: readonly string[];
  add(id: string): void;
  remove(id: string): void;
}

/** Sales that began here and whose end was not seen, newest first; of one person alone. */
export function useBegun(): Begun {
  const { account, user, keyId } = useSession().data!;
  const place = `till ${account.id} ${user?.id ?? keyId}`;
  const [ids, setIds] = useState(() => storedIn(place));
  const change = (make: (ids: readonly string[]) => readonly string[]) =>
    setIds(() => {
      // Another tab may have begun one.
      const changed = make(storedIn(place)).slice(0, MOST);
      try {
        localStorage.setItem(place, JSON.stringify(changed));
      } catch {}
      return changed;
    });
  return {
    ids,
    add: (id) => change((before) => [id, ...before.filter((each) => each !== id)]),
    remove: (id) => change((before) => before.filter((each) => each !== id)),
  };
}

function storedIn(place: string): readonly string[] {
  try {
    const ids: unknown = JSON.parse(localStorage.getItem(place) ?? '[]');
    return Array.isArray(ids) ? ids.map(String) : [];
  } catch {
    return [];
  }
}

/** Nothing came, and nothing will. */
const isNothing = ({ status, receivedAmount }: Checkout) =>
  (status === 'CANCELLED' || status === 'EXPIRED') && receivedAmount === '0';

/** @param shown the sale on the screen: beside it only what is over is told */
export function Others({ begun, shown, open }: { begun: Begun; shown: string; open: (id: string) => void }) {
  const ids = begun.ids.filter((id) => id !== shown);
  const sales = useReads(
    'checkouts.get',
    ids.map((id) => ({ id })),
    // PAID is final, however long it is listed; one that ended with money may still be accepted.
    { keepPrevious: false, refetchInterval: (sale) => sale?.status !== 'PAID' && LOOK_MS },
  ).flatMap(({ data }) => data ?? []);
  const over = sales.filter(isNothing).map(({ id }) => id);
  useEffect(() => {
    for (const id of over) begun.remove(id);
  }, [over.join()]);
  const told = sales.filter((sale) => !isNothing(sale) && (shown === '' || sale.status !== 'OPEN'));
  if (told.length === 0) return null;
  return (
    <ul class="till-others" aria-label={t('otherSales')}>
      {told.map((sale) => (
        <li key={sale.id}>
          <button type="button" class="plain" onClick={() => open(sale.id)}>
            <span>
              <bdi>{sale.name}</bdi>, {priceText(sale.price ?? sale.amount!, sale)}
            </span>
            <Badge {...CHECKOUT_STATUS[sale.status]} />
          </button>
        </li>
      ))}
    </ul>
  );
}
