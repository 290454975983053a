/** The document of an audit, and its indexes. */
import mongoose from 'mongoose';
import type { AUDIT_STATUSES, OPENING_SOURCES } from '../../contracts/audits.js';
import type { Network } from '../../contracts/networks.js';
import { PART_OPTIONS, SCHEMA_OPTIONS } from '../kit/database.js';

/** Decimal text of stroops, possibly negative. */
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

/** Progress of a running audit. */
export interface AuditProgress {
  /** The ledger of the last change to the balances, and one up to which they are known to be unchanged. */
  changedLedger: number;
  knownLedger: number;
  /** What the account held after `toLedger`. */
  closing: StoredAmount[];
  /** Names of the requested assets. Null, or absent in older versions, if the server lists all balances. */
  asked?: string[] | null;
  /** The balances after `fromLedger`, from a previous audit. */
  opening: StoredAmount[] | null;
  /** Books of everything up to `fromLedger`, if read from the account's creation. */
  before: StoredSums[];
  /** Books of everything after `fromLedger`. */
  books: StoredSums[];
  /** Paging tokens; null once read to the end. */
  effectsCursor: string | null;
  feesCursor: string | null;
  /** Nothing has changed since the last audit, so nothing is read. */
  isQuiet: boolean;
  /** Ledger of the oldest effect, if read from the account's creation; null when there is none. */
  firstLedger: number | null;
  /** Pages from before `fromLedger`. */
  pagesBefore: number;
  /** An unknown kind of effect. */
  unknownKind: string | null;
  /** Ids of parked records that paid the wallet, judging by its balance. Absent in older versions. */
  parked?: string[];
  /** Number of operations that credited the wallet and could not be fetched. Absent in older versions. */
  unread?: number;
  /** Failed requests for lists of payments. */
  listsFailed?: number;
}

/** A ledger that paid the wallet. Identified by its close time too: after a reset its number is used again. */
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
  /** The network's last reset, as of the balances; null for none. Absent in older versions. */
  resetAt?: Date | null;
  /** Null before the balances are taken, and when the audit has ended. */
  progress: AuditProgress | null;
  /** When a running audit continues. */
  turnAt: Date | null;
  /** Counts saved steps: of two processes with one audit, only one can save the next. */
  revision: number;
  /** Start of a standstill; null while it advances. */
  stuckSince: Date | null;
  /** Assets that moved without being listed: their balances are requested, too. */
  moved?: Pick<StoredAmount, 'assetCode' | 'assetIssuer'>[];
  /** Since when it waits for data that it can do without. */
  lateSince?: Date | null;
  /** The differences found by each reading, oldest first. */
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
