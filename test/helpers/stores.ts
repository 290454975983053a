/** The stores on a database of their own, without a service around them, and documents to put into them. */
import { systemClock as clock } from '../../src/clock.js';
import { createRecorder } from '../../src/collect/recorder.js';
import { createRefundBook } from '../../src/collect/refunds.js';
import { createIds } from '../../src/domain/ids.js';
import { createOutbox } from '../../src/events/outbox.js';
import type { Credit } from '../../src/ledger/records.js';
import { newWallet } from '../../src/services/wallets.js';
import { connectDatabase } from '../../src/stores/database.js';
import { createStores } from '../../src/stores/index.js';
import type { WalletDoc } from '../../src/stores/wallets.js';
import { PAYER, SHOP, toid } from './horizon-records.js';
import { testDatabase } from './mongo.js';

export const newId = createIds(clock);

interface Test {
  teardown(end: () => unknown): void;
}

/** With the recorder that stores what the watcher reads. */
export async function openStores(t: Test) {
  const { uri, db } = await testDatabase(t);
  return { uri, db, ...(await openStoresOn(t, uri)) };
}

/** The same on a database that there is. */
export async function openStoresOn(t: Test, uri: string) {
  const { connection, transaction, close } = await connectDatabase(uri);
  t.teardown(close);
  const stores = createStores(connection, { clock, newId });
  await stores.ensureIndexes();
  const outbox = createOutbox({ ...stores.system, newId, publicUrl: 'https://pay.example' });
  const refundBook = createRefundBook({ ...stores.system, outbox });
  const recorder = createRecorder({ ...stores.system, outbox, refundBook, transaction, newId });
  return { connection, stores, transaction, outbox, recorder };
}

/** An active wallet on TESTNET since `windows`, not taken up yet; `fields` say what is different. */
export const walletDoc = (
  fields: Pick<WalletDoc, 'accountId' | 'address' | 'windows'> & Partial<WalletDoc>,
): WalletDoc => ({
  ...newWallet({ _id: newId('wallet'), name: 'Shop', network: 'TESTNET', createdAt: clock.now(), ...fields }),
  ...fields,
});

/** 10 stroops to SHOP in ledger 1000, as the `nth` operation; `fields` say what is different. */
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
