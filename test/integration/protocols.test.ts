/** What a protocol newer than the SDK writes: the payment is the same, by whichever source and in
 *  whichever form it was read. */
import { Keypair } from '@stellar/stellar-sdk';
import { type Logger, pino } from 'pino';
import t from 'tap';
import { SDK_PROTOCOL, sdk } from '../../src/domain/stellar-sdk.js';
import { strkeyOf } from '../../src/domain/strkey.js';
import { createLedger } from '../../src/ledger/network-ledger.js';
import type { Call } from '../../src/ledger/rpc/call.js';
import { parseOperation, type RpcOperation } from '../../src/ledger/rpc/operation.js';
import { submitTransaction } from '../../src/ledger/rpc/submission.js';
import { createContractIds } from '../../src/ledger/rpc/token-event.js';
import { transactionHashOf } from '../../src/ledger/rpc/transaction.js';
import { openAccounts, payEveryKind } from '../helpers/every-kind.js';
import { startTestLedger } from '../helpers/ledger.js';
import { manualClock } from '../helpers/manual-clock.js';
import { testDatabase } from '../helpers/mongo.js';
import { eventually, startTestService } from '../helpers/service.js';

const { uri } = await testDatabase(t);
const { url, client, ledger } = await startTestLedger(t, { uri, closeMs: 40 });
const silent = pino({ level: 'silent' });

function openNetwork(kind: 'horizon' | 'rpc', log: Logger) {
  const opened = createLedger({
    network: 'LOCAL',
    horizonUrls: kind === 'rpc' ? [] : [url],
    rpcUrls: kind === 'horizon' ? [] : [`${url}/rpc`],
    passphrase: ledger.passphrase,
    budget: null,
    clock: manualClock(),
    log,
  });
  t.teardown(() => opened.close());
  return opened;
}

const openLedger = (kind: 'horizon' | 'rpc') => openNetwork(kind, silent).session({ purpose: 'watching' });

/** What came to `to`, whole. */
async function outcomesOf(kind: 'horizon' | 'rpc', to: string) {
  const session = openLedger(kind);
  await session.tip();
  const { records } = await session.accountPayments(to, '0', 200);
  const whole = [];
  for (const record of records) whole.push(await session.complete(record, (all) => all.includes(to)));
  return whole.filter(({ outcome }) => outcome.kind !== 'ignored');
}

t.test('a contract call that is authorized by newer credentials is recorded by each source', async (t) => {
  const { address: to } = await client.fund();
  for (const signedBy of ['address_v2', 'unknown'] as const) {
    await client.payByContract({ to, amount: '7', muxedId: '42', signedBy });
    await client.payByContract({ to, amount: '8', signedBy });
  }
  const [horizon, rpc] = [await outcomesOf('horizon', to), await outcomesOf('rpc', to)];
  t.ok(horizon.length >= 4);
  t.strictSame(
    rpc.map(({ outcome }) => outcome),
    horizon.map(({ outcome }) => outcome),
  );
  const raws = rpc.map(({ raw }) => raw as RpcOperation).filter(({ json }) => json !== undefined);
  t.equal(raws.length, 2, 'only what cannot be decoded is asked for as JSON');
  const contractIdOf = createContractIds(ledger.passphrase);
  for (const raw of raws) {
    t.throws(() => sdk().xdr.TransactionEnvelope.fromXdr(raw.envelopeXdr, 'base64'));
    t.equal(transactionHashOf(raw.envelopeXdr, ledger.passphrase), raw.transactionHash, 'and has its hash');
    const { json: _, ...alone } = raw;
    t.strictSame(parseOperation(alone, contractIdOf), parseOperation(raw, contractIdOf), 'its events alone tell it');
  }
});

t.test('a protocol newer than what can be decoded is said at the start, in health and in metrics', async (t) => {
  for (const kind of ['horizon', 'rpc'] as const) {
    const lines: string[] = [];
    const log = pino({ level: 'warn' }, { write: (line: string) => void lines.push(line) });
    await openNetwork(kind, log).checkNetwork();
    t.same(lines, [], `${kind}: nothing is said of a protocol that is known`);
    const { id } = await client.faults.add({ kind: 'protocol', protocol: SDK_PROTOCOL + 1 });
    await openNetwork(kind, log).checkNetwork();
    t.match(lines, [new RegExp(`protocol ${SDK_PROTOCOL + 1} is newer`)], kind);
    const env: Record<string, string> = kind === 'rpc' ? { RPC_URLS_LOCAL: `${url}/rpc` } : { HORIZON_URLS_LOCAL: url };
    const service = await startTestService(t, { env });
    const text = async (path: string) => (await fetch(`${service.url}${path}`)).text();
    const isTold = async () => (await text('/health/ready')).includes(`LOCAL: protocol ${SDK_PROTOCOL + 1} is newer`);
    await eventually(isTold, 'health says it');
    t.match(await text('/metrics'), /collect_protocol_too_new\{network="LOCAL"\} 1/);
    await client.faults.remove(id);
  }
});

t.test('a refusal that cannot be decoded is tx_failed, once no ledger has the transaction', async (t) => {
  const submittedTo = (errorResultXdr: string | null, found: { status: string }) => {
    const answers = {
      sendTransaction: { status: 'ERROR', hash: 'a'.repeat(64), errorResultXdr },
      getTransaction: found,
    };
    const call: Call = async (method, _params, schema) => schema.parse(answers[method as keyof typeof answers]);
    return submitTransaction(call, 'AAAA', { sleep: async () => undefined });
  };
  for (const undecodable of [Buffer.alloc(16, 0x7f).toString('base64'), '', null]) {
    const refused = { state: 'refused', transactionCode: 'tx_failed', operationCode: null };
    t.same(await submittedTo(undecodable, { status: 'NOT_FOUND' }), refused);
    t.same(await submittedTo(undecodable, { status: 'SUCCESS' }), { state: 'applied' }, 'the payer need not pay again');
  }
});

t.test('lumens of a contract that create an account are money in by each source', async (t) => {
  const to = Keypair.random().publicKey();
  const horizon = await fetch(`${url}/accounts/${to}`);
  t.equal(horizon.status, 404, 'it is not on the ledger');
  await client.payByContract({ to, amount: '7', muxedId: '42' });
  t.match(await (await fetch(`${url}/accounts/${to}`)).json(), { balances: [{ balance: '7.0000000' }] });
  const found = { kind: 'credits', credits: [{ receiver: to, amount: 70_000_000n, destinationMuxedId: '42' }] };
  for (const kind of ['horizon', 'rpc'] as const) {
    const outcomes = (await outcomesOf(kind, to)).map(({ outcome }) => outcome);
    t.equal(outcomes.length, 1);
    t.match(outcomes[0], found, kind);
  }
});

t.test('every kind of operation is the same from XDR and from the server’s JSON', async (t) => {
  const accounts = await openAccounts(client);
  await payEveryKind(client, accounts);
  const contractIdOf = createContractIds(ledger.passphrase);
  const found = await outcomesOf('rpc', accounts.shop.publicKey());
  t.ok(found.length > 5);
  for (const { raw, outcome } of found) {
    const { envelopeXdr, resultXdr, eventsXdr, ...place } = raw as RpcOperation;
    const { TransactionEnvelope, TransactionResult, ContractEvent } = sdk().xdr;
    const json = {
      envelope: TransactionEnvelope.fromXdr(envelopeXdr, 'base64').toJson(),
      result: TransactionResult.fromXdr(resultXdr, 'base64').toJson(),
      events: eventsXdr.map((event) => ContractEvent.fromXdr(event, 'base64').toJson()),
    };
    const unknown = Buffer.alloc(8, 0x7f).toString('base64');
    const undecodable = {
      ...place,
      envelopeXdr: unknown,
      resultXdr: unknown,
      eventsXdr: eventsXdr.map(() => unknown),
      json,
    };
    t.strictSame(parseOperation(undecodable, contractIdOf), outcome, 'as JSON');
    const ofTheFuture = { of_the_future: Object.values(json.envelope as object)[0] };
    const bumped = { of_the_future: { tx: { inner_tx: ofTheFuture } } };
    for (const envelope of 'tx_fee_bump' in (json.envelope as object) ? [ofTheFuture] : [ofTheFuture, bumped]) {
      const newer = { ...undecodable, json: { ...json, envelope } };
      t.strictSame(parseOperation(newer, contractIdOf), outcome, 'in a newer envelope');
    }
  }
});

t.test('an event with a party that is unknown neither hides the payment beside it nor moves its place', async (t) => {
  const { address: to } = await client.fund();
  await client.payByContract({ to, amount: '3' });
  const [{ raw }] = (await outcomesOf('rpc', to)).slice(-1) as unknown as [{ raw: RpcOperation }];
  const contractIdOf = createContractIds(ledger.passphrase);
  const [ours] = raw.eventsXdr as [string];
  const shown = sdk().xdr.ContractEvent.fromXdr(ours, 'base64').toJson() as never as {
    body: { v0: { topics: unknown[] } };
  };
  const muxed = structuredClone(shown);
  muxed.body.v0.topics[2] = { address: strkeyOf('W', Buffer.alloc(40, 7)) };
  const unknown = Buffer.alloc(8, 0x7f).toString('base64');
  const beside = { ...raw, eventsXdr: [unknown, ours] };
  t.match(parseOperation(beside, contractIdOf), { kind: 'parked', receivers: [to] }, 'its place is not known');
  t.match(parseOperation({ ...beside, json: { events: [muxed, shown] } }, contractIdOf), {
    kind: 'credits',
    credits: [{ changeIndex: 1, receiver: to, amount: 30_000_000n }],
    parked: [],
  });
});
