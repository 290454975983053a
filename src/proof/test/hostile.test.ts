/** Files of an archive that are made to use up time and memory → refused before they do. */
import t from 'tap';
import { concat, uint32 } from '../encoding.js';
import { type CheckpointFiles, makeProof } from '../index.js';
import type { Bytes } from '../xdr.js';
import { LEDGER, ledgersOf, PASSPHRASE, VALIDATORS } from './ledgers.js';
import { PAYMENTS, type PaymentCase } from './payments.js';

const [payment] = PAYMENTS as [PaymentCase];
const { files } = ledgersOf([payment.applied]);

const prove = (changed: Partial<CheckpointFiles>) =>
  makeProof(
    { ...files, ...changed },
    {
      networkPassphrase: PASSPHRASE,
      ledger: LEDGER,
      transactionHash: Buffer.from(payment.applied.transaction.hash()).toString('hex'),
      operationIndex: 0,
      validators: VALIDATORS,
    },
  );

const record = (...parts: readonly Bytes[]): Bytes => {
  const body = concat(...parts);
  return concat(uint32(body.length), body);
};
const zeros = (length: number): Bytes => new Uint8Array(length);
const hash = zeros(32);

/** A header with empty upgrades. */
const headerOf = (upgrades: number): Bytes =>
  record(hash, uint32(30), hash, hash, zeros(8), uint32(upgrades), zeros(4 * upgrades + 300));

/** A nomination with empty votes. */
const nominationOf = (votes: number): Bytes =>
  concat(zeros(36), zeros(8), uint32(3), hash, uint32(votes), zeros(4 * votes + 4), uint32(0));

const decision: Bytes = concat(zeros(36), zeros(8), uint32(2), zeros(4), uint32(0), zeros(4), hash, uint32(0));

const scpOf = (messages: readonly Bytes[]): Bytes =>
  record(uint32(0), uint32(0), uint32(LEDGER), uint32(messages.length), ...messages);

const MANY = 300_000;
const HOSTILE: [string, Partial<CheckpointFiles>][] = [
  ...(['ledger', 'transactions'] as const).map((name): [string, Partial<CheckpointFiles>] => [
    `${name} with many empty records`,
    { [name]: concat(files[name], zeros(16 * 1024 * 1024)) },
  ]),
  ['a header with many upgrades', { ledger: headerOf(MANY) }],
  ['a message with many votes', { scp: scpOf([nominationOf(MANY)]) }],
  ['many votes over all records', { scp: concat(...Array(30).fill(scpOf([nominationOf(10_000)]))) }],
  ['many messages', { scp: scpOf(Array(1_001).fill(decision)) }],
  [
    'many results',
    { results: record(uint32(LEDGER), uint32(1), hash, zeros(8), uint32(-1), uint32(MANY), zeros(4 * MANY).fill(255)) },
  ],
  ['a large result set', { results: record(uint32(LEDGER), zeros(3_100_000), uint32(0)) }],
  ['many transactions', { transactions: record(uint32(LEDGER), hash, uint32(20_001), zeros(68 * 20_001), zeros(4)) }],
  [
    'many components of a set',
    {
      transactions: record(
        uint32(LEDGER),
        zeros(36),
        uint32(1),
        uint32(1),
        hash,
        uint32(1),
        uint32(1),
        uint32(0),
        uint32(MANY),
        zeros(4 * MANY + 4),
      ),
    },
  ],
];

for (const [name, changed] of HOSTILE)
  t.test(`${name} → refused`, async (t) => {
    const before = process.memoryUsage().heapUsed;
    const error = await prove(changed).then(
      () => null,
      (thrown: Error) => thrown,
    );
    t.comment(`${error?.message}, ${Math.round((process.memoryUsage().heapUsed - before) / 1e6)} MB`);
    t.match(error?.message, /more records|too long|more elements|more transactions|larger than a verifier/);
  });
