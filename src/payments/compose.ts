/** Composes this room: what happens when money meets a payable. */
import type { Outbox } from '../events/index.js';
import type { SystemStores } from '../stores.js';
import { createPaymentEvents } from './payment-events.js';
import { createRecorder, type Recorder, type RecorderDeps } from './recorder.js';
import { createRefundBook, type RefundBook } from './refunds.js';
import { createSettle, type Settle } from './settle.js';

export interface Payments {
  recorder: Recorder;
  refundBook: RefundBook;
  settle: Settle;
}

export function createPayments({
  system,
  outbox,
  transaction,
  newId,
  rateBook,
  monotonic,
  storedWithinMs,
  publicUrl,
}: Pick<RecorderDeps, 'transaction' | 'newId' | 'rateBook' | 'monotonic' | 'storedWithinMs'> & {
  system: SystemStores;
  outbox: Outbox;
  publicUrl: string;
}): Payments {
  const paymentEvents = createPaymentEvents({ publicUrl });
  const refundBook = createRefundBook({ ...system, paymentEvents, outbox });
  const settle = createSettle({ ...system, refundBook, paymentEvents, outbox });
  return {
    refundBook,
    settle,
    recorder: createRecorder({
      ...{ ...system, refundBook, settle, rateBook, transaction, newId },
      ...{ monotonic, storedWithinMs },
    }),
  };
}
