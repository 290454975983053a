/** The ledger's hashes and archive are those of the protocol: held against the SDK's reading of the
 *  same bytes, and against a verifier of proofs. */
import { createHash } from 'node:crypto';
import { gunzipSync } from 'node:zlib';
import { xdr } from '@stellar/stellar-sdk/base';
import t from 'tap';
import { startTestLedger } from '../../../test/helpers/ledger.js';
import { testDatabase } from '../../../test/helpers/mongo.js';
import { makeProof, verifyProof } from '../../proof/index.js';

const sha = (...parts: readonly Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest('hex');

/** The records of an archive's file. */
function recordsOf(file: Buffer): Buffer[] {
  const records: Buffer[] = [];
  for (let at = 0; at < file.length; ) {
    const length = file.readUInt32BE(at) & 0x7fff_ffff;
    records.push(file.subarray(at + 4, at + 4 + length));
    at += 4 + length;
  }
  return records;
}

const { db } = await testDatabase(t);
const { url, client, ledger: local } = await startTestLedger(t, { db, closeMs: null });
const { ledger } = local;

/** Starts what needs closed ledgers, and closes them until it is done. */
async function closing<T>(work: Promise<T>): Promise<T> {
  let isDone = false;
  const done = work.finally(() => (isDone = true));
  while (!isDone) {
    await ledger.closer.closeLedger();
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  return done;
}

async function file(kind: string, last: number): Promise<Buffer> {
  const hex = last.toString(16).padStart(8, '0');
  const folders = [hex.slice(0, 2), hex.slice(2, 4), hex.slice(4, 6)].join('/');
  const answer = await fetch(`${url}/archive/${kind}/${folders}/${kind}-${hex}.xdr.gz`);
  if (answer.status !== 200) throw Object.assign(new Error(`${kind} is ${answer.status}`), { status: answer.status });
  return gunzipSync(Buffer.from(await answer.arrayBuffer()));
}

async function rpc(method: string, params: object) {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method, params });
  const answer = await fetch(`${url}/rpc`, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  return (await answer.json()) as any;
}

const payee = await closing(client.fund());
const payer = await closing(client.fund());
const paid = await closing(
  client.pay({ to: payee.address, amount: '12.5', memo: 'order 7', fromSecret: payer.secret }),
);
await closing(client.payByContract({ to: payee.address, amount: '3' }));
const paidLedger = ledger.head().sequence;
const last = Math.ceil((paidLedger + 2) / 64) * 64 - 1;
/** The first checkpoint has no ledger 0. */
const ledgers = last === 63 ? 63 : 64;
while (ledger.head().sequence < last) await ledger.closer.closeLedger();

t.test('headers lead from one to the next, and Horizon’s are the archive’s', async (t) => {
  const entries = recordsOf(await file('ledger', last)).map((record) => xdr.LedgerHeaderHistoryEntry.fromXdr(record));
  const page = ((await (await fetch(`${url}/ledgers?limit=200&order=asc`)).json()) as any)._embedded.records;
  for (const [index, { hash, header }] of entries.entries()) {
    t.equal(hash.toXdr('hex'), sha(header.toXdr()), 'the hash of a header is of its bytes');
    if (index > 0) t.equal(header.previousLedgerHash.toXdr('hex'), entries[index - 1]!.hash.toXdr('hex'));
    const record = page.find(({ sequence }: { sequence: number }) => sequence === header.ledgerSeq);
    if (record) t.match(record, { hash: hash.toXdr('hex'), header_xdr: header.toXdr('base64') });
  }
  t.equal(entries.length, ledgers);
});

t.test('results and transaction sets are what headers name', async (t) => {
  const headers = new Map(
    recordsOf(await file('ledger', last)).map((record) => {
      const { header } = xdr.LedgerHeaderHistoryEntry.fromXdr(record);
      return [header.ledgerSeq, header];
    }),
  );
  const results = recordsOf(await file('results', last)).map((record) =>
    xdr.TransactionHistoryResultEntry.fromXdr(record),
  );
  const sets = recordsOf(await file('transactions', last)).map((record) => xdr.TransactionHistoryEntry.fromXdr(record));
  t.ok(results.length > 0);
  t.strictSame(
    results.map(({ ledgerSeq }) => ledgerSeq),
    sets.map(({ ledgerSeq }) => ledgerSeq),
  );
  for (const { ledgerSeq, txResultSet } of results)
    t.equal(sha(txResultSet.toXdr()), headers.get(ledgerSeq)!.txSetResultHash.toXdr('hex'));
  for (const { ledgerSeq, ext } of sets) {
    if (!('generalizedTxSet' in ext)) throw new Error('a set is of the old kind');
    t.equal(sha(ext.generalizedTxSet.toXdr()), headers.get(ledgerSeq)!.scpValue.txSetHash.toXdr('hex'));
  }
  const messages = recordsOf(await file('scp', last)).map((record) => xdr.ScpHistoryEntry.fromXdr(record));
  t.equal(messages.length, ledgers, 'each ledger has a decision');
});

t.test('a payment of the ledger can be proven by its archive', async (t) => {
  const unpacked = async (kind: string) => new Uint8Array(await file(kind, last));
  const [headers, results, transactions, scp] = await Promise.all(
    ['ledger', 'results', 'transactions', 'scp'].map(unpacked),
  );
  const files = { ledger: headers!, results: results!, transactions: transactions!, scp: scp! };
  const validators = [{ name: 'Local', homeDomain: 'localhost', nodes: [ledger.validator.publicKey()] }];
  const trust = { passphrase: ledger.passphrase, validators };
  const place = { networkPassphrase: ledger.passphrase, operationIndex: 0, validators };
  const closed = await ledger.history.transactions(
    { includeFailed: false },
    { cursor: null, order: 'asc', limit: 200 },
  );
  const payment = closed.find(({ hash }) => hash === paid.hash)!;
  const proof = await makeProof(files, { ...place, ledger: payment.ledger, transactionHash: payment.hash });
  const signed = await verifyProof(proof, trust);
  t.equal(signed.verdict, 'SIGNED', signed.reasons.join(' '));
  t.match(signed.claim, { from: payer.address, to: payee.address, amount: '12.5', memo: 'order 7', memoType: 'text' });

  const call = closed.find(({ phase }) => phase === 'call')!;
  const { result } = await rpc('getTransaction', { hash: call.hash });
  const events: string[] = result.events.contractEventsXdr[0];
  const head = Buffer.from([0, 0, 0, 1, 0, 0, 0, events.length]);
  const invocation = Uint8Array.from(Buffer.concat([head, ...events.map((each) => Buffer.from(each, 'base64'))]));
  const ofCall = await makeProof(files, { ...place, ledger: call.ledger, transactionHash: call.hash, invocation });
  const moved = await verifyProof(ofCall, trust);
  t.equal(moved.verdict, 'SIGNED', moved.reasons.join(' '));
  t.match(moved.claim, { kind: 'contract', to: payee.address, amount: '3', assetCode: 'XLM' });
});

t.test('what the archive does not have → 404', async (t) => {
  for (const [kind, at] of [
    ['ledger', last + 64],
    ['ledger', last - 1],
    ['bucket', last],
  ] as const)
    await t.rejects(file(kind, at), { message: `${kind} is 404` });
  const other = await fetch(`${url}/archive/ledger/00/00/01/ledger-${last.toString(16).padStart(8, '0')}.xdr.gz`);
  t.equal(other.status, 404, 'the folders are another file’s');
  const state = await (await fetch(`${url}/archive/.well-known/stellar-history.json`)).json();
  t.match(state, { currentLedger: last, networkPassphrase: ledger.passphrase });
  const toml = await (await fetch(`${url}/.well-known/stellar.toml`)).text();
  t.match(toml, `PUBLIC_KEY = "${ledger.validator.publicKey()}"`);
  t.match(toml, `HISTORY = "${url}/archive"`);
});
