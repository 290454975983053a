/** Idempotency-Key: for 24 h the same request gets the first one's answer again.
 *
 *  Requests with one key, account, method and path run one at a time, in whatever process.
 *  Only a 2xx answer is kept; after a failure the key is free again. Effect and answer are not
 *  stored in one step: if the process dies between the two, the next request runs again. A creation
 *  gets the same `reservedId` then and makes no second thing; what can be done once only, such as
 *  accepting a payment, finds that it is done; anything else is done twice. */
import { createHash } from 'node:crypto';
import type mongoose from 'mongoose';
import type { Logger } from 'pino';
import { ApiError, conflict } from '../kit/api-error.js';
import type { Caller } from '../kit/caller.js';
import type { Clock } from '../kit/clock.js';
import { type DocOf, define, nullable, openCollection } from '../kit/collection.js';
import { AlreadyMade, isDuplicateKey } from '../kit/database.js';
import type { NewId } from '../kit/ids.js';
import { every } from '../kit/loop.js';
import type { ForAccount } from '../stores.js';

// Claims on Idempotency-Keys: one document for each method, path, account and key, with the run
// that has the claim, and then its answer.

const IDEMPOTENCY = define(
  'idempotency',
  {
    /** Names account, method, path and key. */
    _id: String,
    accountId: String,
    bodyHash: String,
    /** Suffix of the created resource's id, the same in every run of the request. */
    reservedSuffix: String,
    /** Names the run that may store the answer. */
    runner: String,
    /** Without an answer by then, the run has died, and another may take over. */
    runsUntil: Date,
    /** JSON `{status, body}`; null while the request runs. */
    answer: nullable(String),
    expiresAt: Date,
  },
  [
    // Clean-up only, an hour late because clocks differ: the service's clock decides whether a
    // claim has expired.
    { key: { expiresAt: 1 }, expireAfterSeconds: 3600 },
  ],
);

export interface ClaimDoc extends DocOf<typeof IDEMPOTENCY> {}

export function createIdempotencyStore(connection: mongoose.Connection) {
  const claims = openCollection<ClaimDoc>(connection, IDEMPOTENCY);
  return {
    forAccount: (accountId: string) => ({
      /** Stores the claim as this account's and returns null, or returns the one that is there. */
      async claim(claim: ClaimDoc): Promise<ClaimDoc | null> {
        const upsert = () =>
          claims.findOneAndUpdate(
            { _id: claim._id, accountId },
            { $setOnInsert: { ...claim, accountId } },
            { upsert: true, returnDocument: 'before' },
          );
        // Concurrent upserts may collide in the `_id`: MongoDB retries only those with a filter of
        // one field.
        return upsert().catch((error: unknown) => {
          if (!isDuplicateKey(error)) throw error;
          return upsert();
        });
      },
      /** Replaces a claim that is unchanged since it was seen. */
      async replace({ _id, runner, runsUntil }: ClaimDoc, next: ClaimDoc): Promise<boolean> {
        const { matchedCount } = await claims.replaceOne({ _id, accountId, runner, runsUntil }, { ...next, accountId });
        return matchedCount === 1;
      },

      // The functions below do nothing once another run has taken over.

      async prolong(id: string, runner: string, runsUntil: Date): Promise<void> {
        await claims.updateOne({ _id: id, accountId, runner }, { $set: { runsUntil } });
      },
      async answer(id: string, runner: string, answer: string): Promise<void> {
        await claims.updateOne({ _id: id, accountId, runner }, { $set: { answer } });
      },
      async release(id: string, runner: string): Promise<void> {
        await claims.deleteOne({ _id: id, accountId, runner });
      },
    }),
  };
}

const KEPT_MS = 24 * 3_600_000;
/** A run that has not renewed its claim for this long has died. */
const LEASE_MS = 10_000;
const WAIT_MS = 30_000;
const POLL_MS = 50;

interface IdempotentRequest {
  method: string;
  /** As requested, ids filled in. */
  path: string;
  /** The header's value. */
  key: string;
  /** The JSON as sent, already validated. */
  body: unknown;
  /** Field of the answer's body that is shown only once, dotted: `Operation.secretField`. */
  secretField?: string;
}

interface Answer {
  status: number;
  /** The resource, without envelope. */
  body: unknown;
}

export type Idempotency = ReturnType<typeof createIdempotency>;

interface Deps {
  forAccount: ForAccount<'idempotency'>;
  clock: Clock;
  newId: NewId;
  log: Logger;
}

type Execute = (caller: Caller) => Promise<Answer>;

export function createIdempotency(deps: Deps) {
  const { forAccount, clock } = deps;
  /** Requests running in this process: a request that waits for one need not poll the database. */
  const running = new Map<string, Promise<unknown>>();

  /** Null while another process runs the request. */
  async function attempt(caller: Caller, claim: ClaimDoc, secretField: string | undefined, execute: Execute) {
    const claims = forAccount(caller.accountId).idempotency;
    const seen = await claims.claim(claim);
    if (!seen) return perform(deps, caller, claim, secretField, execute);
    const now = clock.now();
    const hasExpired = seen.expiresAt <= now;
    if (!hasExpired && seen.bodyHash !== claim.bodyHash) {
      throw conflict('This Idempotency-Key was used with another body.');
    }
    if (!hasExpired && seen.answer !== null) return { ...(JSON.parse(seen.answer) as Answer), replayed: true };
    if (!hasExpired && seen.runsUntil > now) return null;
    const kept = hasExpired ? {} : { reservedSuffix: seen.reservedSuffix, expiresAt: seen.expiresAt };
    // Counted from now: the claim is older than the query and may be over already.
    const next = { ...claim, ...kept, runsUntil: new Date(now.getTime() + LEASE_MS) };
    return (await claims.replace(seen, next))
      ? perform(deps, { ...caller, isRepeated: !hasExpired }, next, secretField, execute)
      : null;
  }

  return {
    /** Executes the request, or replays its first answer without its secret.
     *  @throws ApiError `bad_request` for a malformed key, `conflict` for another body or a first
     *  request that does not end; any error of `execute` */
    async run(caller: Caller, request: IdempotentRequest, execute: Execute): Promise<Answer & { replayed: boolean }> {
      const { method, path, key, body, secretField } = request;
      if (!/^[\x20-\x7e]{1,255}$/.test(key)) {
        throw new ApiError('bad_request', 'Idempotency-Key must have 1 to 255 printable ASCII characters.');
      }
      // Each user has Idempotency-Keys of their own.
      const id = sha256([caller.accountId, method, path, key, ...(caller.user ? [caller.user.id] : [])]);
      const giveUpAtMs = clock.nowMs() + WAIT_MS;
      for (;;) {
        if (!running.has(id)) {
          const run = attempt(caller, newClaim(deps, id, caller.accountId, body), secretField, execute);
          running.set(id, run);
          try {
            const answer = await run;
            if (answer) return answer;
          } finally {
            running.delete(id);
          }
        }
        if (clock.nowMs() >= giveUpAtMs)
          throw conflict('The first request with this Idempotency-Key is still running.');
        const polled = clock.sleep(POLL_MS);
        await (running.has(id) ? Promise.race([running.get(id)?.catch(() => undefined), polled]) : polled);
      }
    },
  };
}

/** Runs the request under its claim. */
async function perform(deps: Deps, caller: Caller, claim: ClaimDoc, secretField: string | undefined, execute: Execute) {
  const { forAccount, clock, log } = deps;
  const { _id, runner } = claim;
  const claims = forAccount(caller.accountId).idempotency;
  const done = new AbortController();
  void keepProlonging(deps, claim, done.signal);
  try {
    const run = () => execute({ ...caller, reservedId: (prefix) => `${prefix}_${claim.reservedSuffix}` });
    const answer = await run().catch((error: unknown) => {
      if (!(error instanceof AlreadyMade)) throw error;
      // Another run, slow but alive, has just made it: the next one finds it.
      return run();
    });
    if (answer.status < 200 || answer.status > 299) await claims.release(_id, runner);
    else {
      const body = secretField === undefined ? answer.body : leaveOut(answer.body, secretField.split('.'));
      await claims.answer(_id, runner, JSON.stringify({ status: answer.status, body }));
    }
    return { ...answer, replayed: false };
  } catch (error) {
    // A fault may have had an effect: the claim stays, and the next request takes it over with the
    // same reserved id.
    const giveUp = error instanceof ApiError ? claims.release(_id, runner) : claims.prolong(_id, runner, clock.now());
    await giveUp.catch((cause: unknown) => log.warn({ err: cause }, 'claim on an Idempotency-Key not released'));
    throw error;
  } finally {
    done.abort();
  }
}

const keepProlonging = (
  { forAccount, clock, log }: Deps,
  { _id, accountId, runner }: ClaimDoc,
  signal: AbortSignal,
): Promise<void> =>
  every(
    LEASE_MS / 3,
    () => forAccount(accountId).idempotency.prolong(_id, runner, new Date(clock.nowMs() + LEASE_MS)),
    { clock, signal, onError: (err) => log.warn({ err }, 'claim on an Idempotency-Key not extended') },
  );

const newClaim = ({ clock, newId }: Deps, id: string, accountId: string, body: unknown): ClaimDoc => ({
  _id: id,
  accountId,
  bodyHash: sha256(body),
  reservedSuffix: newId('key').slice('key_'.length),
  runner: clock.randomBytes(12).toString('hex'),
  runsUntil: new Date(clock.nowMs() + LEASE_MS),
  answer: null,
  expiresAt: new Date(clock.nowMs() + KEPT_MS),
});

/** The same for the same JSON, whatever the order of its names. */
function sha256(json: unknown): string {
  const text = JSON.stringify(json, (_name, value: unknown) =>
    isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value,
  );
  return createHash('sha256')
    .update(text ?? '')
    .digest('hex');
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function leaveOut(value: unknown, [name, ...path]: string[]): unknown {
  if (!isObject(value) || name === undefined) return value;
  const { [name]: inner, ...rest } = value;
  return path.length === 0 ? rest : { ...rest, [name]: leaveOut(inner, path) };
}
