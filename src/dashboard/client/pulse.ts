/** Notices changes with one small query every few seconds, and refreshes the shown data only when its answer changes. */
import { useEffect, useRef } from 'preact/hooks';
import { refresh, useRead } from './api.js';

/** Below the 5 s within which recorded payments are shown. */
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
