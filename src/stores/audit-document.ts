/** The document of an audit, and its indexes. */
import mongoose from 'mongoose';
import type { AUDIT_STATUSES, OPENING_SOURCES } from '../../contracts/audits.js';
import type { Network } from '../../contracts/networks.js';
import { PART_OPTIONS, SCHEMA_OPTIONS } from './database.js';

/** Decimal text of stroops, perhaps less than 0. */
type Stroops = string;

export interface StoredAmount {
  assetCode: string;
  assetIssuer: string | null;
  stroops: Stroops;
}

export interface StoredSums {
  assetCode: string;
  assetIssuer: string | null;
  received: Stroops;
  sent: Stroops;
  fees: Stroops;
  traded: Stroops;
  other: Stroops;
}

export interface StoredRow extends StoredSums {
  opening: Stroops;
  closing: Stroops;
  computed: Stroops;
  difference: Stroops;
}

/** How far a running audit has come. */
export interface AuditProgress {
  /** The ledger in which the balances last changed, and one up to which they are known to have stayed so. */
  changedLedger: number;
  knownLedger: number;
  /** What the account held after `toLedger`. */
  closing: StoredAmount[];
  /** Names of the assets whose balances were asked for. Null, or absent of an older version, where the server lists what an account holds. */
  asked?: string[] | null;
  /** What it held after `fromLedger`, where a previous audit says so. */
  opening: StoredAmount[] | null;
  /** Books of everything up to `fromLedger`, where it is read from the account's creation on. */
  before: StoredSums[];
  /** Books of everything after `fromLedger`. */
  books: StoredSums[];
  /** Paging tokens; null once read to the end. */
  effectsCursor: string | null;
  feesCursor: string | null;
  /** Nothing has changed since the last audit: nothing is read. */
  isQuiet: boolean;
  /** Ledger of the oldest effect, where everything is read from the account's creation on; null when there is none. */
  firstLedger: number | null;
  /** Pages of before `fromLedger`. */
  pagesBefore: number;
  /** A kind of effect that is not known here. */
  unknownKind: string | null;
  /** Ids of parked records that paid the wallet, by its balance. Absent of an older version. */
  parked?: string[];
  /** How many operations that credited the wallet could not be had. Absent of an older version. */
  unread?: number;
  /** How often lists of payments did not come through. */
  listsFailed?: number;
}

/** One that paid the wallet. By its close time too: after a reset another network's has the same number. */
export interface HealedOperation {
  operationId: string;
  closedAt: Date;
}

export interface AuditDoc {
  _id: string;
  accountId: string;
  walletId: string;
  network: Network;
  status: (typeof AUDIT_STATUSES)[number];
  reason: string | null;
  fromLedger: number | null;
  toLedger: number | null;
  assets: StoredRow[];
  missingPayments: number;
  /** Operations whose payments are being recorded and not counted yet. */
  healing?: HealedOperation[];
  openingSource: (typeof OPENING_SOURCES)[number] | null;
  balanceSource: string | null;
  movementSource: string | null;
  createdAt: Date;
  finishedAt: Date | null;
  /** When the network had been reset, as of the balances; null for never. Absent in an audit of an older version. */
  resetAt?: Date | null;
  /** Null before the balances are taken, and in the end. */
  progress: AuditProgress | null;
  /** While it runs: when it goes on. */
  turnAt: Date | null;
  /** Counts what was saved: of two processes with one audit, one goes on. */
  revision: number;
  /** Since when it has come no further; null while it does. */
  stuckSince: Date | null;
  /** Assets that moved without being listed: their balances are asked for as well. */
  moved?: Pick<StoredAmount, 'assetCode' | 'assetIssuer'>[];
  /** Since when it waits for what it can do without. */
  lateSince?: Date | null;
  /** The differences that it has seen, each time it was read, oldest first. */
  seen: string[];
  /** The account asked for it; absent where it was planned. */
  isAskedFor?: true;
}

const part = (definition: mongoose.SchemaDefinition) => new mongoose.Schema(definition, PART_OPTIONS);
const asset = { assetCode: String, assetIssuer: { type: String, default: null } };
const sums = { ...asset, received: String, sent: String, fees: String, traded: String, other: String };
const amountSchema = part({ ...asset, stroops: String });
const sumsSchema = part(sums);
const progressSchema = part({
  changedLedger: Number,
  knownLedger: Number,
  closing: [amountSchema],
  asked: { type: [String], default: null },
  opening: { type: [amountSchema], default: null },
  before: [sumsSchema],
  books: [sumsSchema],
  effectsCursor: { type: String, default: null },
  feesCursor: { type: String, default: null },
  isQuiet: { type: Boolean, default: false },
  firstLedger: { type: Number, default: null },
  pagesBefore: Number,
  unknownKind: { type: String, default: null },
  parked: { type: [String], default: undefined },
  unread: { type: Number, default: undefined },
  listsFailed: { type: Number, default: undefined },
});

const nullable = { type: String, default: null };
const auditSchema = new mongoose.Schema<AuditDoc>(
  {
    _id: String,
    accountId: String,
    walletId: String,
    network: String,
    status: String,
    reason: nullable,
    fromLedger: { type: Number, default: null },
    toLedger: { type: Number, default: null },
    assets: [part({ ...sums, opening: String, closing: String, computed: String, difference: String })],
    missingPayments: Number,
    healing: { type: [part({ operationId: String, closedAt: Date })], default: undefined },
    openingSource: nullable,
    balanceSource: nullable,
    movementSource: nullable,
    createdAt: Date,
    finishedAt: { type: Date, default: null },
    resetAt: { type: Date, default: undefined },
    progress: { type: progressSchema, default: null },
    turnAt: { type: Date, default: null },
    revision: Number,
    stuckSince: { type: Date, default: null },
    lateSince: { type: Date, default: undefined },
    moved: { type: [part(asset)], default: undefined },
    seen: [String],
    isAskedFor: { type: Boolean, default: undefined },
  },
  { ...SCHEMA_OPTIONS, collection: 'audits' },
);
const isRunning = { status: 'RUNNING' };
auditSchema.index({ walletId: 1 }, { unique: true, partialFilterExpression: isRunning, name: 'running' });
auditSchema.index({ network: 1, accountId: 1, turnAt: 1 }, { partialFilterExpression: isRunning, name: 'turns' });
auditSchema.index({ accountId: 1, walletId: 1, _id: -1 });
auditSchema.index({ walletId: 1, status: 1, _id: -1 });

export const auditModel = (connection: mongoose.Connection): mongoose.Model<AuditDoc> =>
  connection.model<AuditDoc>('Audit', auditSchema);
