/** The operator's actions on accounts at the command line, recorded in the activity of each. An
 *  action on many accounts is recorded batch by batch and takes effect with the last; each batch
 *  stores its progress in the same transaction, so that the next run continues an
 *  interrupted one. */

import type { Act } from '../accounts/index.js';
import { conflict } from '../kit/api-error.js';
import type { Caller, Doing } from '../kit/caller.js';
import type { Session } from '../kit/database.js';
import { ANY_WALLET, type ParkedRecordDoc } from '../watching/index.js';
import type { Keyring } from '../webhooks/index.js';
import type { Core } from './core.js';
import type { StoreResealed } from './secrets-key.js';

/** Bounds a transaction. */
const TOLD_AT_ONCE = 100;

type Subject = Pick<Caller, 'accountId'> & Pick<Act, 'subjectId'>;

/** An action of the operator on an account's resource. */
export const actOfOperator = (
  { accountId, subjectId }: Subject,
  operation: string,
  input: Doing['input'] = {},
  effect: Doing['effect'] = 'adds',
): Act => ({
  caller: { accountId, keyId: '', scope: 'FULL', agent: 'cli', doing: { operation, effect, input } },
  subjectId,
});

/** An action recorded step by step. */
interface Telling {
  doing: Pick<Doing, 'operation' | 'input'>;
  /** Its progress; null when it has ended. */
  toldTo(): Promise<string | null>;
  /** The next accounts concerned. @returns the progress after them; null at the end */
  next(from: string): Promise<{ subjects: Subject[]; to: string | null }>;
  /** Stores the progress in the transaction; null makes the action take effect. @returns false when
   *  another run has taken the step */
  step(from: string, to: string | null, session: Session): Promise<boolean>;
}

/** @returns whether this run made it take effect */
async function tellAll({ commit }: Core, { doing, toldTo, next, step }: Telling): Promise<boolean> {
  for (;;) {
    const from = await toldTo();
    if (from === null) return false;
    const { subjects, to } = await next(from);
    let isTaken = false;
    await commit.all(
      subjects.map((subject) => actOfOperator(subject, doing.operation, doing.input)),
      async (session) => {
        isTaken = await step(from, to, session);
        return subjects.map(() => (isTaken ? null : conflict('Another run was faster.')));
      },
    );
    if (isTaken && to === null) return true;
  }
}

/** The next accounts with such documents. */
async function nextAccounts(
  { stores }: Core,
  from: string,
  having: (accountIds: readonly string[]) => Promise<readonly string[]>,
): Promise<{ accountIds: readonly string[]; to: string | null }> {
  const ids = await stores.system.accounts.idsAfter(from, TOLD_AT_ONCE);
  return { accountIds: await having(ids), to: ids.length < TOLD_AT_ONCE ? null : ids.at(-1)! };
}

/** Dismisses a parked record. Tells every account whose wallet it may have paid; if that may be any
 *  wallet, every account of the network.
 *  @returns when; null when there is no such open record */
export async function dismissParked(core: Core, id: string, why: string): Promise<{ at: Date; why: string } | null> {
  const { parkedRecords } = core.stores.system;
  await parkedRecords.beginDismissal(id, why);
  const record = await parkedRecords.byId(id);
  if (!record?.dismissing) return null;
  const dismissed = { at: core.clock.now(), why: record.dismissing.why };
  const isDone = await tellAll(core, {
    doing: { operation: 'parked_dismiss', input: { record: id, why: dismissed.why } },
    toldTo: async () => (await parkedRecords.byId(id))?.dismissing?.toldTo ?? null,
    next: (from) => concernedBy(core, record, from),
    step: (from, to, session) =>
      to === null
        ? parkedRecords.endDismissal(id, from, dismissed, session)
        : parkedRecords.tellDismissal(id, from, to, session),
  });
  return isDone ? dismissed : null;
}

async function concernedBy(core: Core, { network, concerns }: ParkedRecordDoc, from: string) {
  const { wallets } = core.stores.system;
  if (concerns.includes(ANY_WALLET)) {
    const { accountIds, to } = await nextAccounts(core, from, (ids) => wallets.ownersAmong(network, ids));
    return { subjects: accountIds.map((accountId) => ({ accountId, subjectId: accountId })), to };
  }
  const found = await wallets.atAfter(network, concerns, { after: from, limit: TOLD_AT_ONCE });
  return {
    subjects: found.map(({ _id, accountId }) => ({ accountId, subjectId: _id })),
    to: found.length < TOLD_AT_ONCE ? null : found.at(-1)!._id,
  };
}

/** A new key signs deliveries once every account with a webhook has been told. */
export const rotateWebhookKey = (core: Core, keyring: Keyring): ReturnType<Keyring['rotate']> =>
  keyring.rotate(async (id) => {
    const { webhookKeys, webhooks } = core.stores.system;
    const since = core.clock.now();
    const isBegun = await tellAll(core, {
      doing: { operation: 'webhookKeys_rotate', input: {} },
      toldTo: async () => (await webhookKeys.byId(id))?.toldTo ?? null,
      async next(from) {
        const { accountIds, to } = await nextAccounts(core, from, webhooks.ownersAmong);
        return { subjects: accountIds.map((accountId) => ({ accountId, subjectId: id })), to };
      },
      step: (from, to, session) =>
        to === null ? webhookKeys.begin(id, from, since, session) : webhookKeys.tell(id, from, to, session),
    });
    return isBegun ? since : null;
  });

/** Stores a webhook's secrets in one transaction with the activity of its account. */
export const storeResealed =
  ({ commit }: Core): StoreResealed =>
  ({ owner, accountId }, work) =>
    accountId === null
      ? work()
      : commit(actOfOperator({ accountId, subjectId: owner }, 'webhooks_reseal', {}, 'changes'), work);
