/** Submission: `POST /transactions` answers when the transaction is in a ledger,
 *  `POST /transactions_async` at once. */
import { type Request, type Response, Router } from 'express';
import type { Envelope } from '../envelope.js';
import type { Ledger } from '../ledger.js';
import type { Settled } from '../queue.js';
import { asInner } from '../records.js';
import { resultCodes, resultXdr, type TransactionOutcome } from '../results.js';
import { baseUrl, sendHal } from './answer.js';
import { formField, readForm } from './forms.js';
import { Problem } from './problem.js';
import { renderTransaction } from './render.js';

/** How long Horizon waits for a transaction to enter a ledger. */
export const SUBMISSION_TIMEOUT_MS = 30_000;

export function submitRoutes(ledger: Ledger): Router {
  const router = Router();

  router.post('/transactions', ...readForm, async (req, res) => {
    const envelope = await envelopeOf(req);
    if (await answerKnown(req, res, envelope)) return;
    const submission = await ledger.submit(envelope);
    if (submission.kind === 'rejected') {
      // A ledger may have taken it between the two reads.
      if (await answerKnown(req, res, envelope)) return;
      throw failed(envelope, submission.outcome);
    }
    const settled = await inTime(submission.settled);
    if (settled === null || settled.kind === 'dropped') throw timeout(envelope);
    if (settled.kind === 'rejected') throw failed(envelope, settled.outcome);
    // Horizon answers only with what it can show.
    if (!(await ledger.becomesVisible(settled.ledger, SUBMISSION_TIMEOUT_MS))) throw timeout(envelope);
    if (!(await answerKnown(req, res, envelope))) throw timeout(envelope);
  });

  router.post('/transactions_async', ...readForm, async (req, res) => {
    const envelope = await envelopeOf(req);
    const hash = envelope.hash.toString('hex');
    const submission = await ledger.submit(envelope);
    if (submission.kind === 'rejected') {
      await sendHal(req, res, { error_result_xdr: resultXdr(submission.outcome), tx_status: 'ERROR', hash }, 400);
    } else if (submission.isNew) {
      await sendHal(req, res, { tx_status: 'PENDING', hash }, 201);
    } else {
      await sendHal(req, res, { tx_status: 'DUPLICATE', hash }, 409);
    }
  });

  return router;

  async function envelopeOf(req: Request): Promise<Envelope> {
    const text = await formField(req, 'tx');
    const envelope = ledger.decode(text);
    if (envelope === null) throw new Problem('transaction_malformed', { envelope_xdr: text });
    return envelope;
  }

  /** Answers from history if the transaction is already in a ledger. */
  async function answerKnown(req: Request, res: Response, envelope: Envelope): Promise<boolean> {
    const hash = envelope.hash.toString('hex');
    const found = await ledger.history.ownTransaction(hash);
    if (found === null) return false;
    const record = found.innerHash === hash ? asInner(found.record) : found.record;
    if (!found.successful) {
      const extras = { envelope_xdr: envelope.xdr, result_xdr: record.result_xdr, result_codes: found.resultCodes };
      throw new Problem('transaction_failed', extras);
    }
    await sendHal(req, res, renderTransaction(baseUrl(req), record));
    return true;
  }

  async function inTime(settled: Promise<Settled>): Promise<Settled | null> {
    const waiting = new AbortController();
    const late = ledger.clock.sleep(SUBMISSION_TIMEOUT_MS, waiting.signal).then(() => null);
    try {
      return await Promise.race([settled, late]);
    } finally {
      waiting.abort();
    }
  }
}

const failed = (envelope: Envelope, outcome: TransactionOutcome): Problem =>
  new Problem('transaction_failed', {
    envelope_xdr: envelope.xdr,
    result_codes: resultCodes(outcome),
    result_xdr: resultXdr(outcome),
  });

const timeout = (envelope: Envelope): Problem =>
  new Problem('transaction_submission_timeout', { hash: envelope.hash.toString('hex'), envelope_xdr: envelope.xdr });
