/** Friendbot: new accounts get 10,000 lumens from the root account by ordinary transactions. */
import {
  Account,
  Asset,
  Operation,
  StrKey,
  TimeoutInfinite,
  TransactionBuilder,
  type xdr,
} from '@stellar/stellar-sdk/base';
import { type RequestHandler, Router } from 'express';
import type { Envelope } from '../envelope.js';
import type { Ledger } from '../ledger.js';
import { resultCodes } from '../results.js';
import { BASE_FEE, STROOPS_PER_UNIT } from '../stroops.js';
import { baseUrl, sendHal } from './answer.js';
import { formField, readForm } from './forms.js';
import { Problem } from './problem.js';
import { SUBMISSION_TIMEOUT_MS } from './submit-routes.js';

const STARTING_BALANCE = 10_000n;

const refusal = (detail?: string, extras?: Record<string, unknown>): Problem =>
  new Problem('bad_request', extras, detail, 'friendbot');

export function friendbotRoutes(ledger: Ledger): Router {
  const router = Router();
  // Root's sequence numbers are handed out one at a time.
  let turn: Promise<unknown> = Promise.resolve();

  const redirect: RequestHandler = (req, res) => {
    const at = req.originalUrl.indexOf('?');
    res.redirect(307, `${baseUrl(req)}/friendbot/fund${at === -1 ? '' : req.originalUrl.slice(at)}`);
  };
  router.get('/friendbot', redirect);
  router.post('/friendbot', redirect);

  const fund: RequestHandler = async (req, res) => {
    const address = await formField(req, 'addr');
    if (!StrKey.isValidEd25519PublicKey(address)) {
      throw refusal(undefined, { invalid_field: 'addr', reason: 'invalid address' });
    }
    const { envelope, submission } = await inTurn(async () => {
      const signed = await signedByRoot(await gift(address));
      return { envelope: signed, submission: await ledger.submit(signed) };
    });
    const settled = submission.kind === 'waiting' ? await submission.settled : submission;
    if (settled.kind === 'dropped') throw new Problem('service_unavailable');
    if (settled.kind === 'rejected' || !settled.successful) {
      throw refusal('the account could not be funded', { result_codes: resultCodes(settled.outcome) });
    }
    await ledger.becomesVisible(settled.ledger, SUBMISSION_TIMEOUT_MS);
    await sendHal(req, res, { successful: true, hash: envelope.hash.toString('hex'), envelope_xdr: envelope.xdr });
  };
  router.get('/friendbot/fund', fund);
  router.post('/friendbot/fund', ...readForm, fund);

  return router;

  function inTurn<T>(step: () => Promise<T>): Promise<T> {
    const mine = turn.then(step, step);
    turn = mine.catch(() => undefined);
    return mine;
  }

  async function signedByRoot(operation: xdr.Operation): Promise<Envelope> {
    const root = ledger.root.publicKey();
    const current = (await ledger.nextSequence(root))! - 1n;
    const options = { fee: BASE_FEE.toString(), networkPassphrase: ledger.passphrase };
    const transaction = new TransactionBuilder(new Account(root, current.toString()), options)
      .addOperation(operation)
      .setTimeout(TimeoutInfinite)
      .build();
    transaction.sign(ledger.root);
    return ledger.decode(transaction.toXdr())!;
  }

  async function gift(address: string): Promise<xdr.Operation> {
    const balance = await ledger.balance(address);
    if (balance === null) {
      return Operation.createAccount({ destination: address, startingBalance: STARTING_BALANCE.toString() });
    }
    if (balance >= STARTING_BALANCE * STROOPS_PER_UNIT) {
      throw refusal('account already funded to starting balance');
    }
    return Operation.payment({ destination: address, asset: Asset.native(), amount: STARTING_BALANCE.toString() });
  }
}
