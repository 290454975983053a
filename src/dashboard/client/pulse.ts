/** Notices what is new: one small question every few seconds. Only when its answer changes is what is shown read again. */
import { useEffect, useRef } from 'preact/hooks';
import { refresh, useRead } from './api.js';

/** New payments are shown within 5 s of their recording. */
const EVERY_MS = 3_000;

export function usePulse(): void {
  const { data } = useRead(
    'payments.list',
    { status: ['COMPLETED', 'UNDERPAID', 'REJECTED', 'UNMATCHED'], pageSize: 1 },
    { refetchInterval: EVERY_MS },
  );
  const newest = data && `${data.items[0]?.id} ${data.meta.total}`;
  const seen = useRef(newest);
  useEffect(() => {
    if (newest === undefined || newest === seen.current) return;
    if (seen.current !== undefined) refresh(['payments', 'checkouts', 'paymentLinks', 'reports', 'products']);
    seen.current = newest;
  }, [newest]);
}
