/** What Horizon's answers to a submitted payment mean, and the bounds of what payers may cost: the
 *  rest is in test/e2e/wallet-payments.test.ts. */
import t from 'tap';
import { createPayerLedger, type PayerLedger } from '../../src/asking/payer-ways.js';
import { systemClock } from '../../src/kit/clock.js';
import { toSubmission } from '../../src/ledger/horizon/source.js';
import { BudgetUsedUp, LedgerUnavailable, SourceError } from '../../src/ledger/source.js';
import { refusalSentence } from '../../src/page/payer-answer.js';
import { wordsOf } from '../../src/page/words.js';
import { ADDRESS, ISSUER, pageLink, servePages } from '../helpers/browser.js';

const problem = (tail: string, extras?: object) => ({ type: `https://stellar.org/horizon-errors/${tail}`, extras });
const refused = (transaction: string, ...operations: string[]) =>
  problem('transaction_failed', {
    result_codes: { transaction, ...(operations.length > 0 ? { operations } : {}) },
  });

t.test("each of Horizon's answers to a transaction is understood, and no other", async (t) => {
  const meaning = (status: number, body: unknown) => toSubmission({ status, body, retryAfterMs: null });
  t.same(meaning(200, { hash: 'a', successful: true }), { state: 'applied' });
  t.same(meaning(504, problem('transaction_submission_timeout')), { state: 'pending' });
  t.same(meaning(504, undefined), { state: 'pending' }, "a proxy's");
  const tx = (transactionCode: string, operationCode: string | null) => ({
    state: 'refused',
    transactionCode,
    operationCode,
  });
  t.same(meaning(400, refused('tx_bad_seq')), tx('tx_bad_seq', null));
  t.same(meaning(400, refused('tx_failed', 'op_success', 'op_no_trust')), tx('tx_failed', 'op_no_trust'));
  t.same(meaning(400, problem('transaction_malformed')), tx('tx_malformed', null));
  for (const [status, body, kind] of [
    [200, {}, 'server'],
    [200, undefined, 'server'],
    [400, problem('bad_request'), 'server'],
    [400, refused('<script>'), 'server'],
    [403, problem('transaction_submission_disabled'), 'slow'],
    [429, undefined, 'server'],
    [503, problem('stale_history'), 'server'],
  ] as const) {
    t.throws(() => meaning(status, body), new SourceError(`status ${status} for a transaction`, { kind }));
  }
});

t.test('every refusal is a sentence, also an unknown one', async (t) => {
  for (const code of ['op_underfunded', 'op_src_no_trust', 'op_line_full', 'tx_bad_seq', 'tx_too_late', 'op_what']) {
    t.match(refusalSentence(wordsOf('en'), code, pageLink('x')), /^[A-Z].*\.$/, code);
  }
});

t.test(
  'a payer whose share is used up is told when to come again, and other trouble is not taken for that',
  async (t) => {
    const asked: unknown[] = [];
    const ledgerOf = (submit: () => Promise<unknown>) => ({
      finders: [],
      session(asker: unknown) {
        asked.push(asker);
        return { submit, sequenceOf: submit } as never;
      },
    });
    const payersOf = (submit: () => Promise<unknown>) =>
      createPayerLedger({ ledgers: new Map([['PUBLIC', ledgerOf(submit)]]), monotonic: systemClock });
    const open = payersOf(async () => ({ state: 'applied' }));
    t.same(await open.submit('PUBLIC', 'x', '192.0.2.1'), { state: 'applied' });
    t.same(asked, [{ purpose: 'payers', by: '192.0.2.1' }], 'on behalf of its address');
    t.same(await open.submit('TESTNET', 'x', '192.0.2.1'), { state: 'unavailable' });
    const busy = payersOf(() => Promise.reject(new BudgetUsedUp(6001)));
    t.same(await busy.submit('PUBLIC', 'x', '192.0.2.1'), { state: 'busy', waitSeconds: 7 });
    const away = payersOf(() => Promise.reject(new LedgerUnavailable('away', 1)));
    t.same(await away.sequenceOf('PUBLIC', ADDRESS, '192.0.2.1'), { state: 'unavailable' });
  },
);

t.test('a payer’s operation with a parameter that it lacks is refused, and asks no ledger', async (t) => {
  const asked = async () => Promise.reject(new Error('asked'));
  const payerLedger: PayerLedger = { sequenceOf: asked, submit: asked, waysOf: asked, wayFrom: asked };
  const { url } = await servePages(t, [pageLink('x')], { payerLedger });
  for (const name of ['ways', 'transaction', 'submit']) {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify(name === 'submit' ? { xdr: 'AAAA' } : { account: ISSUER });
    const answer = await fetch(`${url}/p/x/${name}?x=1&lang=de`, { method: 'POST', headers, body });
    t.equal(answer.status, 400, name);
    t.match(await answer.json(), { error: { code: 'bad_request', message: 'x: There is no such parameter.' } });
  }
});

t.test('a client that asks too often, or a share that is used up, is 429 in the envelope', async (t) => {
  const payerLedger: PayerLedger = {
    sequenceOf: async () => ({ state: 'busy', waitSeconds: 9 }),
    submit: async () => ({ state: 'unavailable' }),
    waysOf: async () => ({ state: 'busy', waitSeconds: 9 }),
    wayFrom: async () => ({ state: 'unavailable' }),
  };
  let left = 1;
  const limit = () => (left-- > 0 ? 0 : 33);
  const { url } = await servePages(t, [pageLink('x')], { payerLedger, limit });
  const ask = async () => {
    const headers = { 'content-type': 'application/json' };
    const body = JSON.stringify({ account: ISSUER });
    const answer = await fetch(`${url}/p/x/transaction`, { method: 'POST', headers, body });
    return [answer.status, answer.headers.get('retry-after'), ((await answer.json()) as any).error.code];
  };
  t.same(await ask(), [429, '9', 'rate_limited']);
  t.same(await ask(), [429, '33', 'rate_limited']);
});
