/** Whether a server shows events of classic payments. A stellar-core that does not emit them is no error to anybody: payments are just missing. Every
 *  transaction has an event of its fee, so one ledger with a transaction and without such an event tells. */
import { z } from 'zod';
import type { Call } from './call.js';
import { feeFilters, getEvents } from './events.js';
import { ledgerNumber } from './fields.js';

/** `nothing`: there is no transaction either, up to `latestLedger`. */
export type Sight = { kind: 'sees' | 'blind' } | { kind: 'nothing'; latestLedger: number };

const transactionsSchema = z.object({
  transactions: z.array(z.object({ ledger: ledgerNumber })).nullish(),
  latestLedger: ledgerNumber,
});

/** Looks at the first transaction from a ledger on. @throws SourceError, an `RpcError` for a ledger that the server does not have */
export async function probeSight(call: Call, startLedger: number): Promise<Sight> {
  const here = await getEvents(call, { startLedger, endLedger: startLedger + 1 }, feeFilters(), 1);
  if (here.events.length > 0) return { kind: 'sees' };
  const params = { startLedger, pagination: { limit: 1 } };
  const { transactions, latestLedger } = await call('getTransactions', params, transactionsSchema);
  const first = transactions?.[0];
  if (!first) return { kind: 'nothing', latestLedger };
  const there = { startLedger: first.ledger, endLedger: first.ledger + 1 };
  const { events } = await getEvents(call, there, feeFilters(), 1);
  return { kind: events.length > 0 ? 'sees' : 'blind' };
}
