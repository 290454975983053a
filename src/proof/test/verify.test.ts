/** Proofs of ledgers that a test makes: every kind of payment is proven, and nothing else is. */
import { Asset, Keypair, Operation } from '@stellar/stellar-sdk/base';
import t from 'tap';
import { shownBy } from '../claim.js';
import { fromBase64, toBase64 } from '../encoding.js';
import { type Bundle, makeProof, type Verification, verifyProof } from '../index.js';
import { resultPair } from '../ledger-types.js';
import { signedPartOf } from '../make.js';
import { Reader } from '../xdr.js';
import {
  decisionOf,
  type Era,
  LEDGER,
  ledgersOf,
  NETWORK_ID,
  ORGANISATIONS,
  PASSPHRASE,
  sha,
  VALIDATORS,
} from './ledgers.js';
import { foreignTransfer, PAYMENTS, type PaymentCase, paid, shop, transactionOf } from './payments.js';

const trust = { passphrase: PASSPHRASE, validators: VALIDATORS };
const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');
const hashOf = ({ applied }: PaymentCase) => hex(applied.transaction.hash());

function proofOf(payment: PaymentCase, era: Era = 'signed', others: readonly PaymentCase[] = []): Promise<Bundle> {
  const { files } = ledgersOf(
    [...others, payment].map(({ applied }) => applied),
    era,
  );
  const { operationIndex, invocation = null } = payment;
  return makeProof(files, {
    ...{ networkPassphrase: PASSPHRASE, ledger: LEDGER, transactionHash: hashOf(payment), operationIndex, invocation },
    validators: VALIDATORS,
  });
}

const [simple] = PAYMENTS as [PaymentCase, ...PaymentCase[]];
const copy = (bundle: Bundle): Bundle => structuredClone(bundle);
const verdictOf = async (bundle: unknown, options = {}) =>
  (await verifyProof(bundle, { ...trust, ...options })).verdict;

for (const payment of PAYMENTS) {
  t.test(`whoever checks ${payment.name} → its claim is what the bytes show`, async (t) => {
    const proof = await proofOf(
      payment,
      'signed',
      PAYMENTS.filter((other) => other !== payment),
    );
    const found = await verifyProof(JSON.stringify(proof), trust);
    t.equal(found.verdict, 'SIGNED', found.reasons.join(' '));
    t.match(found.claim, {
      ...payment.claim,
      ledger: LEDGER,
      transactionHash: hashOf(payment),
      operationIndex: payment.operationIndex,
    });
    t.strictSame(found.claim, proof.claim);
    t.equal(found.ledger, LEDGER);
    t.equal(found.hash, hex(sha(fromBase64(proof.headers[0]!, 'header'))));
  });
}

for (const era of ['basic', 'signed', 'milliseconds', 'emptySet'] as const)
  t.test(`headers whose value is of the kind ${era} → SIGNED`, async (t) => {
    const proof = await proofOf(simple, era);
    t.equal(await verdictOf(proof), 'SIGNED');
    t.equal(proof.anchor!.txSet === null, era === 'emptySet', 'an empty set that names the header itself needs no set');
    t.equal(proof.claim.closedAt, '2026-11-26T12:00:00.000Z', 'whole seconds');
  });

t.test('a kind of value that does not exist yet → UNKNOWN, never SIGNED', async (t) => {
  const known = await proofOf(simple);
  const { headers } = ledgersOf([simple.applied], 'unknown');
  const proof = { ...known, headers: [toBase64(headers[1]!)], anchor: null };
  t.equal(await verdictOf(proof), 'UNKNOWN');
});

t.test('a failed transaction → no proof can be made, and one that is made by hand is INVALID', async (t) => {
  const failed = { ...simple, applied: { ...simple.applied, isFailed: true } };
  await t.rejects(proofOf(failed), { message: /failed/ });
  const good = await proofOf(simple);
  const { files, headers } = ledgersOf([failed.applied]);
  const resultSet = toBase64(files.results.subarray(8, -4));
  const { verdict, reasons } = await verifyProof(
    { ...good, resultSet, headers: [toBase64(headers[1]!)], anchor: null },
    trust,
  );
  t.equal(verdict, 'INVALID');
  t.match(reasons[0], /failed/);
});

t.test('an asset whose code is no code → no payment', async (t) => {
  const asset = new Asset('USDC', Keypair.random().publicKey());
  const transaction = transactionOf([Operation.payment({ destination: shop.publicKey(), asset, amount: '1' })]);
  const signed = signedPartOf(new Uint8Array(transaction.toEnvelope().toXdr()));
  const { files } = ledgersOf([{ transaction, results: [paid()] }]);
  const pair = resultPair(new Reader(files.results.subarray(12)));
  const shown = () => shownBy(NETWORK_ID, signed, pair, 0, null);
  t.match(await shown(), { claims: [{ assetCode: 'USDC' }] });
  signed.set(Buffer.from('U\u001b[C'), Buffer.from(signed).indexOf('USDC'));
  await t.rejects(shown(), { message: /a code that the network does not allow/ });
});

t.test('trust is the verifier’s own', async (t) => {
  const proof = await proofOf(simple);
  const hash = hex(sha(fromBase64(proof.headers[0]!, 'header')));
  const strangers = [{ name: 'X', homeDomain: 'x.example', nodes: [Keypair.random().publicKey()] }];
  t.equal(await verdictOf(proof, { validators: strangers }), 'CONSISTENT', 'signatures of strangers do not count');
  t.equal(await verdictOf(proof, { validators: [] }), 'CONSISTENT', 'no list trusts nobody');
  t.equal(await verdictOf(proof, { validators: strangers, hashes: [{ ledger: LEDGER, hash }] }), 'ANCHORED');
  t.equal(await verdictOf(proof, { hashes: [{ ledger: LEDGER, hash: hash.toUpperCase() }] }), 'SIGNED');
  t.equal(await verdictOf(proof, { hashes: [{ ledger: LEDGER, hash: '0'.repeat(64) }] }), 'INVALID', 'another hash');
  t.equal(
    await verdictOf(proof, { hashes: [{ ledger: LEDGER + 9, hash }], validators: strangers }),
    'CONSISTENT',
    'of another ledger',
  );
  t.equal(await verdictOf(proof, { passphrase: undefined }), 'UNKNOWN', 'a network of which nothing is known');
  t.equal(await verdictOf(proof, { passphrase: 'Another ; network' }), 'INVALID');
  t.equal(
    await verdictOf({ ...proof, networkPassphrase: 'Another ; network' }, { passphrase: 'Another ; network' }),
    'INVALID',
  );
  await t.rejects(verifyProof(proof, { hashes: [{ ledger: 1, hash: 'x' }] }), TypeError);
  await t.rejects(verifyProof(proof, { validators: [{ name: 'x', homeDomain: 'x', nodes: ['G'] }] }), TypeError);
  await t.rejects(verifyProof(proof, { validators: [...VALIDATORS, VALIDATORS[0]!] }), TypeError);
});

t.test(
  'an organisation counts when more than half of its nodes signed, and more than two thirds of them must',
  async (t) => {
    const proof = await proofOf(simple);
    const { value } = ledgersOf([simple.applied]);
    const [three, one, two] = ORGANISATIONS.map(({ keys }) => keys) as [Keypair[], Keypair[], Keypair[]];
    const at = LEDGER + 1;
    const withSigned = (scp: readonly Uint8Array[]) => ({
      ...proof,
      anchor: { ...proof.anchor!, scp: scp.map((each) => toBase64(new Uint8Array(each))) },
    });
    const by = (...keys: Keypair[]) => keys.map((key) => decisionOf(key, at, value));
    t.equal(
      await verdictOf(withSigned(by(three[0]!, three[1]!, one[0]!, ...two))),
      'SIGNED',
      'two of three, one of one, two of two',
    );
    t.equal(
      await verdictOf(withSigned(by(three[0]!, one[0]!, ...two))),
      'CONSISTENT',
      'one of three is no organisation',
    );
    t.equal(
      await verdictOf(withSigned(by(...three, one[0]!, two[0]!))),
      'CONSISTENT',
      'half of two is no organisation',
    );
    t.equal(
      await verdictOf(withSigned(by(...three, one[0]!))),
      'CONSISTENT',
      'two of three organisations are not more than two thirds',
    );
    const prepared = three.map((key) => decisionOf(key, at, value, 'PREPARE'));
    t.equal(
      await verdictOf(withSigned([...prepared, ...by(one[0]!, ...two)])),
      'CONSISTENT',
      'a PREPARE decides nothing',
    );
    const confirmed = three.map((key) => decisionOf(key, at, value, 'CONFIRM'));
    t.equal(await verdictOf(withSigned([...confirmed, ...by(one[0]!, ...two)])), 'SIGNED', 'a CONFIRM does');
    t.equal(
      await verdictOf(withSigned([...by(three[0]!, three[0]!, three[0]!), ...by(one[0]!, ...two)])),
      'CONSISTENT',
      'one node three times is one',
    );
    const broken = three.map((key) =>
      decisionOf(key, at, value).map((byte, index, all) => (index === all.length - 1 ? byte ^ 1 : byte)),
    );
    t.equal(
      await verdictOf(withSigned([...broken, ...by(one[0]!, ...two)])),
      'CONSISTENT',
      'a broken signature does not count',
    );
    t.equal(
      await verdictOf(withSigned([...broken, ...by(...three, one[0]!, ...two)])),
      'SIGNED',
      'nor does it harm the others',
    );
    const other = three.map((key) => decisionOf(key, at + 1, value));
    t.equal(await verdictOf(withSigned([...other, ...by(one[0]!, ...two)])), 'CONSISTENT', 'of another ledger');
    const contrary = decisionOf(
      three[2]!,
      at,
      value.map((byte, index) => (index === 0 ? byte ^ 1 : byte)),
    );
    t.equal(
      await verdictOf(withSigned([contrary, ...by(one[0]!, ...two)])),
      'INVALID',
      'a trusted validator decided on another set',
    );
    const texts = { ...proof, anchor: { ...proof.anchor!, scp: ['', '###', ...proof.anchor!.scp] } };
    t.equal(await verdictOf(texts), 'SIGNED', 'envelopes that are no bytes do not count');
  },
);

t.test('what a contract that lies emits is no payment', async (t) => {
  const contract = PAYMENTS.find(({ invocation }) => invocation)!;
  const proof = await proofOf(contract);
  const claim = { ...proof.claim, amount: '100', toMuxedId: null };
  t.ok(foreignTransfer);
  t.equal(await verdictOf({ ...proof, claim }), 'INVALID');
  t.equal(await verdictOf({ ...proof, invocation: null }), 'INVALID');
  t.equal(await verdictOf({ ...(await proofOf(simple)), invocation: proof.invocation }), 'INVALID');
});

t.test('a claim that differs in any field → INVALID, with the field', async (t) => {
  const proof = await proofOf(simple);
  const others: Record<string, unknown> = {
    ledger: LEDGER + 1,
    closedAt: '2026-11-26T12:00:01.000Z',
    operationIndex: 1,
    kind: 'contract',
    toMuxedId: '0',
    memoType: 'id',
  };
  for (const [field, value] of Object.entries(proof.claim)) {
    for (const changed of [others[field] ?? 'another', null, undefined, [value], { value }]) {
      if (changed === value) continue;
      const { verdict, reasons } = await verifyProof({ ...proof, claim: { ...proof.claim, [field]: changed } }, trust);
      t.equal(verdict, 'INVALID', `${field}: ${JSON.stringify(changed)}`);
      if (field !== 'operationIndex') t.match(reasons[0], field);
    }
  }
  t.equal(await verdictOf({ ...proof, claim: { ...proof.claim, paidFor: 'a house' } }), 'INVALID');
  t.equal(await verdictOf({ ...proof, claim: { ...proof.claim, closedAt: '2026-11-26T12:00:00Z' } }), 'SIGNED');
});

/** Every byte of a field changed, one after the other. */
async function changedBytes(
  proof: Bundle,
  text: string,
  put: (bundle: Bundle, text: string) => void,
): Promise<Verification[]> {
  const found: Verification[] = [];
  const bytes = fromBase64(text, 'field');
  for (const index of bytes.keys()) {
    const changed = Uint8Array.from(bytes);
    changed[index]! ^= 1 << (index % 8);
    const bundle = copy(proof);
    put(bundle, toBase64(changed));
    found.push(await verifyProof(bundle, trust));
  }
  return found;
}

t.test('any byte that is changed → INVALID; of one validator’s envelope, that it does not count', async (t) => {
  const proof = await proofOf(PAYMENTS.find(({ invocation }) => invocation)!, 'signed', [simple]);
  t.equal(await verdictOf(proof), 'SIGNED');
  const fields: [string, string, (bundle: Bundle, text: string) => void][] = [
    ['transaction', proof.transaction, (bundle, text) => (bundle.transaction = text)],
    ['resultSet', proof.resultSet, (bundle, text) => (bundle.resultSet = text)],
    ['invocation', proof.invocation!, (bundle, text) => (bundle.invocation = text)],
    ['txSet', proof.anchor!.txSet!, (bundle, text) => (bundle.anchor!.txSet = text)],
    ...proof.headers.map((header, index): [string, string, (bundle: Bundle, text: string) => void] => [
      `headers[${index}]`,
      header,
      (bundle, text) => (bundle.headers[index] = text),
    ]),
  ];
  for (const [name, text, put] of fields) {
    const found = await changedBytes(proof, text, put);
    t.strictSame([...new Set(found.map(({ verdict }) => verdict))], ['INVALID'], `${found.length} bytes of ${name}`);
  }
  const [first] = proof.anchor!.scp as [string];
  const envelopes = await changedBytes(proof, first, (bundle, text) => (bundle.anchor!.scp[0] = text));
  // The first organisation still has two of its three nodes.
  t.strictSame(
    [...new Set(envelopes.map(({ verdict }) => verdict))],
    ['SIGNED'],
    `${envelopes.length} bytes of an envelope`,
  );
});

t.test('any character of the file that is changed → never another payment', async (t) => {
  const proof = await proofOf(simple);
  const text = JSON.stringify(proof);
  const verdicts = new Set<string>();
  let others = 0;
  for (let index = 0; index < text.length; index += 7) {
    const other = text[index] === 'A' ? 'B' : 'A';
    const { verdict, claim } = await verifyProof(text.slice(0, index) + other + text.slice(index + 1), trust);
    verdicts.add(verdict);
    if (claim && JSON.stringify(claim) !== JSON.stringify(proof.claim)) others++;
  }
  t.equal(others, 0);
  t.notOk(verdicts.has('ANCHORED'), 'no character makes a hash known');
});

t.test('what is no proof → UNKNOWN or INVALID, never an exception', async (t) => {
  const proof = await proofOf(simple);
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`;
  for (const each of [
    '',
    '{',
    deep,
    `{"format":${deep}}`,
    'null',
    '[]',
    '7',
    '"x"',
    '{}',
    { format: 'stellar-payment-proof/2' },
    null,
    undefined,
    7,
    [proof],
    () => proof,
  ])
    t.equal(await verdictOf(each), 'UNKNOWN', String(JSON.stringify(each)).slice(0, 40));
  t.equal(await verdictOf(' '.repeat(4_000_001)), 'UNKNOWN', 'a file above 4 MB');
  t.equal(await verdictOf({ ...proof, resultSet: 'A'.repeat(5_000_000) }), 'UNKNOWN', 'an object above 4 MB');
  const long = 'x'.repeat(5_000_000);
  for (const more of [
    { statement: { body: long, keyId: 'x', signature: 'x' } },
    { claim: { ...proof.claim, memo: long } },
    { networkPassphrase: long },
    { paid: long },
    { statement: { body: 'ż'.repeat(2_000_000), keyId: 'x', signature: 'x' } },
  ]) {
    t.equal(await verdictOf({ ...proof, ...more }), 'UNKNOWN', `above 4 MB by ${Object.keys(more)}`);
    t.equal(await verdictOf(JSON.stringify({ ...proof, ...more })), 'UNKNOWN', `its text by ${Object.keys(more)}`);
  }
  for (const field of Object.keys(proof)) {
    const { [field as keyof Bundle]: _, ...without } = proof;
    t.equal(await verdictOf(without), field === 'format' ? 'UNKNOWN' : 'INVALID', `without ${field}`);
    for (const value of [7, true, [], {}, 'x', null]) {
      if (value === null && proof[field as keyof Bundle] === null) continue;
      const verdict = await verdictOf({ ...proof, [field]: value });
      t.match(verdict, /^(INVALID|UNKNOWN|CONSISTENT)$/, `${field}: ${JSON.stringify(value)}`);
      if (verdict === 'CONSISTENT')
        t.strictSame([field, value], ['anchor', null], 'without an anchor nothing is signed');
    }
  }
  t.equal(await verdictOf({ ...proof, paid: true }), 'INVALID');
  t.equal(await verdictOf({ ...proof, headers: [] }), 'INVALID');
  t.equal(await verdictOf({ ...proof, headers: [...proof.headers, ...proof.headers] }), 'INVALID');
  t.equal(await verdictOf({ ...proof, resultIndex: 2 ** 32 }), 'INVALID');
  const second = proof.transaction.replace(
    /(.)=$/,
    (_, last: string) => `${String.fromCharCode(last.charCodeAt(0) + 1)}=`,
  );
  if (second !== proof.transaction)
    t.equal(await verdictOf({ ...proof, transaction: second }), 'INVALID', 'a second spelling of base64');
});

t.test('a statement is shown apart, and never changes the verdict', async (t) => {
  const key = Keypair.random();
  const whpk = `whpk_${Buffer.from(key.rawPublicKey()).toString('base64')}`;
  const body = '{"reference":"order-1042"}';
  const signature = `v1a,${Buffer.from(key.sign(Buffer.from(body))).toString('base64')}`;
  const proof = { ...(await proofOf(simple)), statement: { body, keyId: 'key_1', signature } };
  const valid = async (statement: object, keys: Record<string, string>) => {
    const found = await verifyProof(
      { ...proof, statement: { ...proof.statement, ...statement } },
      { ...trust, statementKeys: keys },
    );
    t.equal(found.verdict, 'SIGNED');
    return found.statement;
  };
  t.strictSame(await valid({}, {}), { body, valid: null });
  t.strictSame(await valid({}, { key_1: whpk }), { body, valid: true });
  t.strictSame(await valid({ signature: signature.slice(4) }, { key_1: whpk }), { body, valid: true });
  t.strictSame(await valid({ body: `${body} ` }, { key_1: whpk }), { body: `${body} `, valid: false });
  t.strictSame(await valid({ signature: 'v1a,x' }, { key_1: whpk }), { body, valid: false });
  t.strictSame(await valid({ keyId: 'constructor' }, { key_1: whpk }), { body, valid: null });
  await t.rejects(verifyProof(proof, { statementKeys: { key_1: 'x' } }), TypeError);
  const reasonsOf = async (text: string) =>
    (await verifyProof({ ...proof, statement: { ...proof.statement, body: text } }, trust)).reasons.join(' ');
  t.match(await reasonsOf(body), 'The statement does not name the transaction of this payment.');
  t.notMatch(await reasonsOf(`It was paid by ${hashOf(simple)}.`), 'The statement');
});

t.test('a proof of the public network’s size verifies within a second', async (t) => {
  const many = Array.from({ length: 600 }, (_, index) => {
    const operation = Operation.payment({
      destination: shop.publicKey(),
      asset: Asset.native(),
      amount: `${index + 1}`,
    });
    return { transaction: transactionOf([operation, operation, operation]), results: [paid(), paid(), paid()] };
  });
  const { files } = ledgersOf([...many, simple.applied]);
  const proof = await makeProof(files, {
    networkPassphrase: PASSPHRASE,
    ledger: LEDGER,
    transactionHash: hashOf(simple),
    operationIndex: 0,
    validators: VALIDATORS,
  });
  const { verdict } = await verifyProof(JSON.stringify(proof), trust);
  t.equal(verdict, 'SIGNED');
  t.comment(`${JSON.stringify(proof).length} bytes`);
});
