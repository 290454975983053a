/** The local ledger shows future protocols: bytes that no current SDK decodes, and the JSON of a
 *  server of that protocol. */
import { Address, Keypair, StrKey, xdr } from '@stellar/stellar-sdk';
import t from 'tap';
import { startTestLedger } from '../../../test/helpers/ledger.js';
import { testDatabase } from '../../../test/helpers/mongo.js';
import { madeUpContract } from '../contract-call.js';
import type { FaultInput } from '../faults.js';
import { muxedContract, parseMuxedContract } from '../muxed-contract.js';

const { db } = await testDatabase(t);
const { url, client } = await startTestLedger(t, { db, closeMs: 20 });

type Json = any;

const call = async (method: string, params: unknown): Promise<Json> => {
  const response = await fetch(`${url}/rpc`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  return response.json();
};

/** The result in both formats. */
async function both(method: string, params: object): Promise<{ base64: Json; json: Json }> {
  const [base64, json] = [await call(method, params), await call(method, { ...params, xdrFormat: 'json' })];
  t.notOk(base64.error ?? json.error, method);
  return { base64: base64.result, json: json.result };
}

const get = async (path: string): Promise<Json> => (await fetch(`${url}${path}`)).json();
const decode = (type: { fromXdr(base64: string, format: 'base64'): { toJson(): unknown } }, base64: string) =>
  JSON.parse(JSON.stringify(type.fromXdr(base64, 'base64').toJson()));

/** An operation's transaction and ledger. */
async function transactionOf(operation: string): Promise<{ hash: string; ledger: number }> {
  const { transaction_hash: hash } = await get(`/operations/${operation}`);
  return { hash, ledger: Number(BigInt(operation) >> 32n) };
}

async function withFault<T>(fault: FaultInput, run: () => Promise<T>): Promise<T> {
  const { id } = await client.faults.add(fault);
  try {
    return await run();
  } finally {
    await client.faults.remove(id);
  }
}

t.test('every method with XDR gives the same as JSON, in fields of that name', async (t) => {
  const { address: to } = await client.fund();
  const { hash, ledger } = await client.pay({ to, amount: '3', memo: 'order-1042' });

  const one = await both('getTransaction', { hash });
  t.same(one.json.envelopeJson, decode(xdr.TransactionEnvelope, one.base64.envelopeXdr));
  t.same(one.json.resultJson, decode(xdr.TransactionResult, one.base64.resultXdr));
  t.same(one.json.resultMetaJson, decode(xdr.TransactionMeta, one.base64.resultMetaXdr));
  const told = one.base64.events.contractEventsXdr.flat();
  t.same(
    one.json.events.contractEventsJson.flat(),
    told.map((each: string) => decode(xdr.ContractEvent, each)),
  );
  t.notOk(Object.keys(one.json).some((name) => name.endsWith('Xdr')));

  const page = { startLedger: ledger, pagination: { limit: 1 } };
  const many = await both('getTransactions', page);
  t.same(
    many.json.transactions[0].envelopeJson,
    decode(xdr.TransactionEnvelope, many.base64.transactions[0].envelopeXdr),
  );
  const ledgers = await both('getLedgers', page);
  t.match(ledgers.json.ledgers[0], {
    ...{ headerXdr: '', metadataXdr: '' },
    headerJson: decode(xdr.LedgerHeaderHistoryEntry, ledgers.base64.ledgers[0].headerXdr),
    metadataJson: decode(xdr.LedgerCloseMeta, ledgers.base64.ledgers[0].metadataXdr),
  });
  const newest = await call('getLatestLedger', { xdrFormat: 'json' });
  t.match(newest.result, { headerXdr: '', metadataXdr: '', headerJson: {}, metadataJson: {} });

  const accountId = Keypair.fromPublicKey(to).xdrAccountId();
  const keys = [xdr.LedgerKey.account(new xdr.LedgerKeyAccount({ accountId })).toXdr('base64')];
  const entries = await both('getLedgerEntries', { keys });
  t.same(entries.json.entries[0], {
    keyJson: decode(xdr.LedgerKey, keys[0]!),
    dataJson: decode(xdr.LedgerEntryData, entries.base64.entries[0].xdr),
    lastModifiedLedgerSeq: entries.base64.entries[0].lastModifiedLedgerSeq,
  });

  const events = await both('getEvents', page);
  const [inXdr, inJson] = [events.base64.events[0], events.json.events[0]];
  t.same(
    inJson.topicJson,
    inXdr.topic.map((each: string) => decode(xdr.ScVal, each)),
  );
  t.same(inJson.valueJson, decode(xdr.ScVal, inXdr.value));
  t.notOk('topic' in inJson || 'value' in inJson);

  const spent = await call('sendTransaction', { transaction: one.base64.envelopeXdr, xdrFormat: 'json' });
  t.match(spent.result, { status: /DUPLICATE|ERROR/ });
  t.match((await call('getEvents', { ...page, xdrFormat: 'yaml' })).error, { code: -32602 });
});

t.test('a contract’s call is authorized as CAP-71 has it', async (t) => {
  const { address: to } = await client.fund();
  const arms = { address_v2: 'address_v2', address_with_delegates: 'address_with_delegates', unknown: 'of_the_future' };
  for (const [signedBy, arm] of Object.entries(arms)) {
    const id = await client.payByContract({ to, amount: '1', signedBy: signedBy as keyof typeof arms });
    const { json, base64 } = await both('getTransaction', { hash: (await transactionOf(id)).hash });
    const { credentials } = json.envelopeJson.tx.tx.operations[0].body.invoke_host_function.auth[0];
    t.same(Object.keys(credentials), [arm]);
    const read = () => xdr.TransactionEnvelope.fromXdr(base64.envelopeXdr, 'base64');
    if (signedBy === 'unknown') t.throws(read);
    else t.doesNotThrow(read);
  }
});

t.test('a transfer to a muxed contract is told as CAP-84 has it', async (t) => {
  const contract = madeUpContract('exchange');
  const to = muxedContract({ contract, id: '18446744073709551615' });
  t.match(to, /^W[A-Z2-7]{68}$/);
  t.same(parseMuxedContract(to), { contract, id: '18446744073709551615' });
  t.equal(parseMuxedContract(`${to.slice(0, -1)}${to.endsWith('A') ? 'B' : 'A'}`), null, 'it has a checksum');

  const { address: from } = await client.fund();
  const id = await client.payByContract({ from, to, amount: '2' });
  const { hash, ledger } = await transactionOf(id);
  const { base64, json } = await both('getTransaction', { hash });
  t.throws(() => xdr.TransactionEnvelope.fromXdr(base64.envelopeXdr, 'base64'), 'the SDK knows no such address');
  const { host_function } = json.envelopeJson.tx.tx.operations[0].body.invoke_host_function;
  t.match(host_function.invoke_contract.args, [{ address: from }, { address: to }, { i128: '20000000' }]);

  const muxed = { contract, contract_muxed: to, contract_muxed_id: '18446744073709551615' };
  const { records } = (await get(`/operations/${id}/effects`))._embedded;
  t.match(records, [
    { type: 'account_debited', account: from },
    { type: 'contract_credited', amount: '2.0000000', ...muxed },
  ]);
  const [change] = (await get(`/operations/${id}`)).asset_balance_changes;
  t.match(change, { from, to: contract, destination_muxed_id: muxed.contract_muxed_id });

  const page = {
    startLedger: ledger,
    filters: [{ topics: [['*', Address.fromString(from).toScVal().toXdr('base64'), '**']] }],
  };
  const { json: events } = await both('getEvents', page);
  t.match(events.events[0], {
    topicJson: [{ symbol: 'transfer' }, { address: from }, { address: contract }, { string: 'native' }],
    valueJson: { map: [{ key: { symbol: 'amount' } }, { val: { u64: muxed.contract_muxed_id } }] },
  });
});

t.test('an event may name a muxed contract in its topics, which no client can decode', async (t) => {
  const [{ address: from }, { address: beside }] = [await client.fund(), await client.fund()];
  const to = muxedContract({ contract: madeUpContract('exchange'), id: '7' });
  const common = { asset_type: 'native', type: 'transfer', from, amount: '2.0000000' };
  const id = await client.inject({
    accounts: [from, beside],
    record: {
      ...{ type: 'invoke_host_function', source_account: from },
      asset_balance_changes: [
        { ...common, to },
        { ...common, to: beside },
      ],
    },
  });
  const { hash, ledger } = await transactionOf(id);
  const { base64, json } = await both('getTransaction', { hash });
  const [[first, second]] = base64.events.contractEventsXdr;
  t.throws(() => xdr.ContractEvent.fromXdr(first, 'base64'));
  t.doesNotThrow(() => xdr.ContractEvent.fromXdr(second, 'base64'));
  t.match(json.events.contractEventsJson[0][0].body.v0.topics[2], { address: to });
  t.match(JSON.stringify(json.resultMetaJson), to);
  const ledgers = await both('getLedgers', { startLedger: ledger, pagination: { limit: 1 } });
  t.match(JSON.stringify(ledgers.json.ledgers[0].metadataJson), to);
  const bytes = Buffer.concat([
    Buffer.from([0, 0, 0, 5, 0, 0, 0, 0, 0, 0, 0, 7]),
    StrKey.decodeContract(madeUpContract('exchange')),
  ]);
  t.ok(Buffer.from(ledgers.base64.ledgers[0].metadataXdr, 'base64').includes(bytes));
});

t.test('`undecodable` gives what is closed an arm of the future, for as long as it is in force', async (t) => {
  const [{ address: to }, { address: other }] = [await client.fund(), await client.fund()];
  const { hash, ledger } = await client.pay({ to, amount: '3', memo: 'order-1042' });
  const { hash: untouched } = await client.pay({ to: other, amount: '3' });
  const { base64: before } = await both('getTransaction', { hash });

  await withFault({ kind: 'undecodable', account: to }, async () => {
    const { base64, json } = await both('getTransaction', { hash });
    t.throws(() => xdr.TransactionEnvelope.fromXdr(base64.envelopeXdr, 'base64'));
    t.throws(() => xdr.TransactionResult.fromXdr(base64.resultXdr, 'base64'));
    const paid = base64.events.contractEventsXdr.flat().at(-1);
    t.throws(() => xdr.ContractEvent.fromXdr(paid, 'base64'));
    t.match(json, {
      envelopeJson: { of_the_future: { tx: { memo: { text: 'order-1042' } } } },
      resultJson: { ext: 'of_the_future' },
    });
    t.match(json.events.contractEventsJson.flat().at(-1).body.v0, {
      topics: [{ symbol: 'transfer' }, {}, { address: to }],
      data: { map: [{ val: { i128: '30000000' } }, { val: 'of_the_future' }, { val: { string: 'order-1042' } }] },
    });
    const joined = await get(`/accounts/${to}/payments?join=transactions&order=desc&limit=1`);
    t.equal(joined._embedded.records[0].transaction.envelope_xdr, base64.envelopeXdr, 'Horizon shows the same');
    await both('getLedgers', { startLedger: ledger, pagination: { limit: 1 } });
    const { base64: spared } = await both('getTransaction', { hash: untouched });
    t.doesNotThrow(() => xdr.TransactionEnvelope.fromXdr(spared.envelopeXdr, 'base64'));
  });
  t.same((await call('getTransaction', { hash })).result.envelopeXdr, before.envelopeXdr);

  const lost: FaultInput = { kind: 'undecodable', transaction: hash, parts: ['events'], decodedByServer: false };
  await withFault(lost, async () => {
    const page = { startLedger: ledger, pagination: { limit: 100 } };
    for (const [method, params] of Object.entries({
      getTransaction: { hash },
      getTransactions: page,
      getEvents: page,
      getLedgers: page,
    })) {
      t.match((await call(method, { ...params, xdrFormat: 'json' })).error, { code: -32603 }, method);
      t.notOk((await call(method, params)).error, method);
    }
    const { result } = await call('getTransaction', { hash });
    t.equal(result.envelopeXdr, before.envelopeXdr, 'only what was ordered');
  });
});
