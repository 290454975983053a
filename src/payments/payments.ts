/** Composes this room: what happens when money meets a payable. */
import type { Outbox } from '../events/index.js';
import { createPaymentEvents } from './payment-events.js';
import { createRecorder, type Recorder, type RecorderDeps } from './recorder.js';
import { createRefundBook, type RefundBook, type RefundDeps } from './refunds.js';
import { createSettle, type Settle, type SettleDeps } from './settle.js';

export interface Payments {
  recorder: Recorder;
  refundBook: RefundBook;
  settle: Settle;
}

type Needed = RecorderDeps & RefundDeps & SettleDeps;
type Own = 'outbox' | 'paymentEvents' | 'refundBook' | 'settle' | 'rateBook' | 'transaction' | 'newId';

export function createPayments({
  system,
  outbox,
  transaction,
  newId,
  rateBook,
  publicUrl,
}: Pick<RecorderDeps, 'transaction' | 'newId' | 'rateBook'> & {
  system: Omit<Needed, Own>;
  outbox: Outbox;
  publicUrl: string;
}): Payments {
  const paymentEvents = createPaymentEvents({ publicUrl });
  const refundBook = createRefundBook({ ...system, paymentEvents, outbox });
  const settle = createSettle({ ...system, refundBook, paymentEvents, outbox });
  return {
    refundBook,
    settle,
    recorder: createRecorder({ ...system, refundBook, settle, rateBook, transaction, newId }),
  };
}
