/** Reads the pages of a running audit, one a step: what moved the balances goes into its books, and
 *  what was missed is recorded. A list counts as read only once a server has shown that it
 *  ends there. */

import { forgetSettled } from '../domain/books.js';
import { isWatched } from '../domain/terms.js';
import { cursorAfter, isAfter, type LedgerSession, type ListEnd, ledgerOfCursor, placeOf } from '../ledger/index.js';
import type { PaymentStore } from '../payments/index.js';
import type { WalletDoc } from '../watching/index.js';
import type { AuditDoc, AuditProgress, HealedOperation } from './audit-store.js';
import { type HeldUp, hopeless, isHeldUp, isPatient, late, type Save, waits } from './plan.js';
import {
  creditsIn,
  type EffectsRead,
  type HealDeps,
  heal,
  type ListRead,
  type Range,
  readAmounts,
  readBooks,
  readEffects,
  readFees,
  storeBooks,
} from './read.js';

// Whether a list was read to its end. Several servers may stand behind one URL, and one that is
// behind shows a list that ends early: what counts is what the answer itself shows, never that some
// time has passed. Pure.

/** The audit's knowledge of its account. */
interface Account {
  fromLedger: number;
  toLedger: number;
  /** The ledger in which its balances last changed; 0 for an account that is not on the ledger. */
  changedLedger: number;
  /** It is read from its creation on. */
  readsAll: boolean;
  /** It gets assets of its own, which change no balance. */
  isIssuer?: boolean;
}

/** The ledger that a list has to be shown up to: in those after the last change nothing can have
 *  moved. 0 when nothing can be missing. */
export function mustShow({ fromLedger, toLedger, changedLedger, readsAll, isIssuer = false }: Account): number {
  if (changedLedger === 0 || isIssuer) return toLedger;
  return readsAll || changedLedger > fromLedger ? changedLedger : 0;
}

type EndCheck =
  | 'whole'
  /** There is more than was read. */
  | 'more'
  /** The server that answered has not shown enough yet. */
  | 'behind'
  /** It says nothing of itself in this answer. */
  | 'untold';

/** @param ledger what has to be shown */
export function checkEnd({ cursor }: ListRead, { newest, shownLedger }: ListEnd, ledger: number): EndCheck {
  if (newest !== null && isAfter(placeOf(newest), placeOf(cursor))) return 'more';
  if (shownLedger === null) return 'untold';
  return shownLedger >= ledger ? 'whole' : 'behind';
}

/** Pages read from before a first audit; with more, its opening is computed backwards. */
const PAGES_BEFORE = 50;

/** From this number on an audit is not proven; more are not counted. */
const MOST_PARKED = 1000;

/** After this many failures, lists are given up. Each failed request is repeated with half as
 *  many records. */
const MOST_LISTS_FAILED = 3;

export const readsOneByOne = ({ listsFailed = 0 }: AuditProgress): boolean => listsFailed >= MOST_LISTS_FAILED;

export const FROM_THE_FIRST = { effectsCursor: '0-0', feesCursor: '0' };
export const cursorsAfter = (ledger: number) => {
  const cursor = cursorAfter(ledger);
  return { effectsCursor: `${cursor}-0`, feesCursor: cursor };
};

export function rangeOf({ fromLedger, toLedger, progress }: AuditDoc): Range {
  const { before, books } = progress!;
  return { fromLedger: fromLedger!, toLedger: toLedger!, before: readBooks(before), books: readBooks(books) };
}

function storable({
  before,
  books,
}: Pick<Range, 'before' | 'books'>): Pick<AuditProgress, 'before' | 'books'> | HeldUp {
  const areFew = [before, books].every(forgetSettled);
  if (!areFew) return hopeless('The ledger shows more assets than an account can hold.');
  return { before: storeBooks(before), books: storeBooks(books) };
}

/** No sign that the account ever existed. */
const isNobody = ({ closing, opening }: AuditProgress): boolean =>
  closing.length === 0 && readAmounts(opening ?? []).every(({ stroops }) => stroops === 0n);

/** Whether the whole range is read. It waits while no answer has shown that. @throws
 *  LedgerUnavailable */
async function isRead(
  audit: AuditDoc,
  read: ListRead,
  session: Pick<LedgerSession, 'tip'>,
  endOf: () => Promise<ListEnd>,
): Promise<boolean | HeldUp> {
  if (read.end !== 'unknown') return read.end === 'beyond';
  const { openingSource, progress } = audit;
  const { fromLedger, toLedger } = audit as { fromLedger: number; toLedger: number };
  const ledger = mustShow({ ...progress!, fromLedger, toLedger, readsAll: openingSource === 'HISTORY' });
  if (read.shownLedger >= ledger) return true;
  const behind = waits(`${audit.movementSource} does not show ledger ${ledger} yet.`);
  const end = await endOf();
  const check = checkEnd(read, end, ledger);
  if (check === 'whole') return true;
  if (check === 'more') {
    // Another server gave the page: without an item there is no token to continue from.
    return read.shownLedger === 0 ? behind : false;
  }
  if (check === 'behind') return behind;
  const { latestLedger, oldestLedger } = await session.tip();
  // An account that is there has a history, unless it lies before what is kept, which is noticed in
  // the end.
  const mustBeKnown = !isNobody(progress!) && oldestLedger <= ledger;
  return latestLedger < ledger || (end.isUnknown && mustBeKnown) ? behind : true;
}

const keyOf = ({ operationId, closedAt }: HealedOperation) => `${operationId}:${closedAt.getTime()}`;

type ReadPage = (audit: AuditDoc, wallet: WalletDoc, session: LedgerSession) => Promise<AuditDoc | HeldUp>;

interface PageReaderDeps extends HealDeps {
  payments: Pick<PaymentStore, 'ofOperations'>;
  save: Save;
}

export type PageReaders = ReturnType<typeof createPageReaders>;

export function createPageReaders(deps: PageReaderDeps) {
  return {
    countHealed: (audit: AuditDoc) => countHealed(deps, audit),
    stillOpen: (parked: readonly string[]) => stillOpen(deps, parked),
    effectsPage: ((audit, wallet, session) => effectsPage(deps, audit, wallet, session)) as ReadPage,
    feesPage: ((audit, wallet, session) => feesPage(deps, audit, wallet, session)) as ReadPage,
  };
}

/** The time before the audit is not known completely. */
const computedBack = ({ save }: PageReaderDeps, audit: AuditDoc): Promise<AuditDoc> => {
  const progress = { ...audit.progress!, ...cursorsAfter(audit.fromLedger!), before: [], books: [] };
  return save(audit, { openingSource: 'COMPUTED_BACK', progress });
};

/** Unrecorded ones of these records that may be payments, up to `MOST_PARKED`. */
const stillOpen = async ({ parkedRecords }: PageReaderDeps, parked: readonly string[]): Promise<string[]> =>
  (await parkedRecords.openOf(parked)).slice(0, MOST_PARKED);

/** Records of these operations that are parked, and may have paid the wallet. */
async function parkedOf(
  { parkedRecords }: PageReaderDeps,
  { network, address }: WalletDoc,
  credited: EffectsRead['credited'],
): Promise<string[]> {
  if (credited.length === 0) return [];
  const ids = new Set(credited.map(({ id }) => `${network}:${id}`));
  const ledgers = [...new Set(credited.map(({ ledger }) => ledger))];
  const parked = await parkedRecords.openIn(network, address, ledgers);
  // A change of an operation has its index behind the operation's number.
  return parked.filter((id) => ids.has(id.split(':', 2).join(':')));
}

/** The operation of each payment that is stored for one of these. */
async function storedOf(
  { payments }: PageReaderDeps,
  audit: AuditDoc,
  operations: readonly HealedOperation[],
): Promise<string[]> {
  const wanted = new Set(operations.map(keyOf));
  if (wanted.size === 0) return [];
  const stored = await payments.ofOperations(audit, [...new Set(operations.map(({ operationId }) => operationId))]);
  return stored
    .map(({ operationId, ledgerClosedAt }) => keyOf({ operationId, closedAt: ledgerClosedAt }))
    .filter((key) => wanted.has(key));
}

/** Counts the payments that are there by now of what was being recorded. Some are not when a
 *  process was cut off: they are found missing again, or it records them yet. */
async function countHealed(deps: PageReaderDeps, audit: AuditDoc, healing = audit.healing ?? []) {
  const stored = await storedOf(deps, audit, healing);
  const left = healing.filter((each) => !stored.includes(keyOf(each)));
  return { missingPayments: audit.missingPayments + stored.length, left };
}

async function effectsPage(
  deps: PageReaderDeps,
  begun: AuditDoc,
  wallet: WalletDoc,
  session: LedgerSession,
): Promise<AuditDoc | HeldUp> {
  const { payments, clock, save } = deps;
  const cursor = begun.progress!.effectsCursor!;
  const { history } = session;
  const range = rangeOf(begun);
  const shouldBePaid: Parameters<typeof readEffects>[0]['shouldBePaid'] = (close) =>
    close.ledger > range.fromLedger && isWatched(wallet.windows, close);
  const reading = { history, session, payments, shouldBePaid, oneByOne: readsOneByOne(begun.progress!) };
  const read = await readEffects(
    reading,
    { accountId: wallet.accountId, walletId: wallet._id, address: wallet.address },
    cursor,
    range,
  );
  // An issuer's list has to be shown to the audit's end, also where this page is the first to tell.
  const progress: AuditProgress = { ...begun.progress!, ...(read.isIssuer ? { isIssuer: true } : {}) };
  const audit = { ...begun, progress };
  const isFirst = cursor === FROM_THE_FIRST.effectsCursor;
  if (audit.openingSource === 'HISTORY') {
    const isFromBeginning = !isFirst || (read.first?.isCreation ?? progress.closing.length === 0);
    const isLong = read.isBefore && progress.pagesBefore >= PAGES_BEFORE;
    if (!isFromBeginning || isLong) return computedBack(deps, audit);
  }
  const isEnd = await isRead(audit, read, session, () => history.effectsEnd(wallet.address));
  if (isHeldUp(isEnd)) return isEnd;
  if (read.unread > 0 && isPatient(audit, clock)) return late('An operation that credited the wallet is missing.');
  const credits = await creditsIn(deps, wallet, session, read.unpaid);
  const cut = audit.healing ?? [];
  const known = new Set([...(await storedOf(deps, audit, credits)), ...cut.map(keyOf)]);
  const fresh = credits.filter((credit) => !known.has(keyOf(credit)));
  const healing = [...cut, ...fresh.map(({ operationId, closedAt }) => ({ operationId, closedAt }))];
  const current = fresh.length > 0 ? await save(audit, { healing }) : audit;
  if (credits.length > 0) await heal(deps, { network: wallet.network, wallet }, credits);
  const { missingPayments, left } = await countHealed(deps, current, healing);
  const stored = storable(range);
  if (isHeldUp(stored)) return stored;
  return save(current, {
    missingPayments,
    // The step's payments are recorded by now, or refused for good.
    healing: left.filter((each) => cut.includes(each)),
    progress: {
      ...progress,
      ...stored,
      effectsCursor: isEnd ? null : read.cursor,
      firstLedger: isFirst && read.first ? ledgerOfCursor(read.first.operationId) : progress.firstLedger,
      unknownKind: progress.unknownKind ?? read.unknownKind,
      unread: (progress.unread ?? 0) + read.unread,
      parked: await stillOpen(deps, [...(progress.parked ?? []), ...(await parkedOf(deps, wallet, read.credited))]),
      pagesBefore: progress.pagesBefore + (read.isBefore ? 1 : 0),
    },
  });
}

async function feesPage(
  deps: PageReaderDeps,
  audit: AuditDoc,
  wallet: WalletDoc,
  session: LedgerSession,
): Promise<AuditDoc | HeldUp> {
  const progress = audit.progress!;
  const { history } = session;
  const range = rangeOf(audit);
  const read = await readFees(history, wallet.address, progress.feesCursor!, range);
  const pagesBefore = progress.pagesBefore + (read.isBefore ? 1 : 0);
  if (audit.openingSource === 'HISTORY' && pagesBefore > 2 * PAGES_BEFORE) return computedBack(deps, audit);
  const isEnd = await isRead(audit, read, session, () => history.feesEnd(wallet.address));
  if (isHeldUp(isEnd)) return isEnd;
  const stored = storable(range);
  if (isHeldUp(stored)) return stored;
  return deps.save(audit, {
    progress: { ...progress, ...stored, pagesBefore, feesCursor: isEnd ? null : read.cursor },
  });
}
