/** The stores on their own database, without a service, and documents for them. */

import { createCommit } from '../../src/accounts/commit.js';
import { createOutbox } from '../../src/events/outbox.js';
import { systemClock as clock, monotonicClock } from '../../src/kit/clock.js';
import { connectDatabase } from '../../src/kit/database.js';
import { createIds } from '../../src/kit/ids.js';
import type { Credit } from '../../src/ledger/records.js';
import { createPayments } from '../../src/payments/compose.js';
import { createRateBook } from '../../src/rates/book.js';
import { createStores, type Stores } from '../../src/stores.js';
import { ANY_WALLET, type ParkedRecordDoc } from '../../src/watching/parked-store.js';
import type { WalletDoc } from '../../src/watching/wallet-store.js';
import { newWallet } from '../../src/watching/wallets.js';
import { PAYER, SHOP, toid } from './horizon-records.js';
import { testDatabase } from './mongo.js';

export const newId = createIds(clock);

interface Test {
  teardown(end: () => unknown): void;
}

/** How long the recorder takes for several operations at once. */
type Times = Pick<Parameters<typeof createPayments>[0], 'monotonic' | 'storedWithinMs'>;

/** Opens the stores with the recorder of the watcher's records. */
export async function openStores(t: Test, times?: Times) {
  const { uri, db } = await testDatabase(t);
  return { uri, db, ...(await openStoresOn(t, uri, times)) };
}

/** The same on an existing database. */
export async function openStoresOn(t: Test, uri: string, times: Times = { monotonic: monotonicClock }) {
  const { connection, transaction, close } = await connectDatabase(uri);
  t.teardown(close);
  const stores = createStores(connection, { clock, newId });
  await stores.ensureIndexes();
  const { system } = stores;
  const outbox = createOutbox({ ...system, newId });
  const rateBook = rateBookOf(system);
  const publicUrl = 'https://pay.example';
  const { recorder } = createPayments({ system, outbox, transaction, newId, rateBook, publicUrl, ...times });
  const commit = createCommit({ ...stores, transaction, newId, activities: system.activities });
  return { connection, stores, transaction, commit, outbox, recorder };
}

/** A rate book with the settings' defaults. */
export const rateBookOf = (system: Stores['system']) =>
  createRateBook({ ...system, clock, lockMs: 15 * 60_000, maxAgeMs: 600_000 });

/** An active wallet on TESTNET since `windows`, not taken up yet, changed by `fields`. */
export const walletDoc = (
  fields: Pick<WalletDoc, 'accountId' | 'address' | 'windows'> & Partial<WalletDoc>,
): WalletDoc => ({
  ...newWallet({ _id: newId('wallet'), name: 'Shop', network: 'TESTNET', createdAt: clock.now(), ...fields }),
  ...fields,
});

/** A record that was parked just now and may have paid any wallet of its network, changed
 *  by `fields`. */
export const parkedDoc = (
  fields: Pick<ParkedRecordDoc, '_id' | 'network' | 'raw'> & Partial<ParkedRecordDoc>,
): ParkedRecordDoc => {
  const createdAt = clock.now();
  const open = { concerns: [ANY_WALLET], ledger: null, closedFrom: new Date(0), payableUntil: createdAt };
  return { reason: 'x', createdAt, ...open, tries: 0, nextTryAt: createdAt, dismissed: null, ...fields };
};

/** 10 stroops to SHOP in ledger 1000, as the `nth` operation, changed by `fields`. */
export const credit = (nth: number, fields: Partial<Credit> = {}): Credit => ({
  operationId: toid(1000, nth),
  changeIndex: 0,
  transactionHash: nth.toString(16).padStart(64, '0'),
  ledger: 1000,
  closedAt: new Date(),
  receiver: SHOP,
  sender: PAYER,
  asset: { code: 'XLM', issuer: null },
  amount: 10n,
  memo: { type: 'none', text: null },
  destinationMuxedId: null,
  senderMuxedAddress: null,
  ...fields,
});
