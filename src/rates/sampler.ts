/** The sampler stores a rate of each pair in use once an interval. Besides it, only the first
 *  need of a pair asks a source. */
import type { Logger } from 'pino';
import type { Network } from '../../contracts/networks.js';
import {
  countsNow,
  formatRate,
  MAX_PAIRS_PER_ACCOUNT,
  type Pair,
  pairKey,
  parseRate,
  type RateAnswer,
  suspectsOf,
} from '../domain/rate.js';
import { beginAfter, type LedgerStamp } from '../domain/terms.js';
import { type Clock, within } from '../kit/clock.js';
import type { RatePairDoc, RatePairStore, StoredAnswer } from './rate-pairs.js';
import type { RateSampleStore } from './rate-samples.js';
import { PATIENCE_MS, type Take } from './take.js';

/** A needed pair stays open for this long, even if nothing stored uses it. */
const NEEDED_FOR_MS = 3_600_000;
/** Concurrent samples: of pairs that lately had a sample, and of any. Pairs that one account has
 *  invented may stall, and then delay the other pairs only for a while. */
const LANES = { sound: 6, any: 2 };
/** Then no further pair is sampled in this run: the lanes of sound pairs, which have ended by now,
 *  begin again with the next one. */
const RUN_MS = 5000;
const LOOK_EVERY_MS = 100;

/** Has a pair sampled, on account of the first account that needs it. @param until default half an
 *  hour from now
 *  @returns false if it is not sampled yet and the account has opened as many pairs as it may */
export type NeedRate = (pair: Pair, accountId: string, until?: Date) => Promise<boolean>;

export type Sampler = ReturnType<typeof createSampler>;

export interface SamplerDeps {
  pairs: RatePairStore;
  samples: RateSampleStore;
  take: Take;
  stamp: (network: Network) => Promise<LedgerStamp>;
  /** Whether a product, an open checkout or an account's books use the pair. */
  isInUse: (pair: Pair) => Promise<boolean>;
  intervalMs: number;
  clock: Clock;
  log: Logger;
  onDisagreed: () => void;
}

export function createSampler(deps: SamplerDeps) {
  const { pairs, samples, intervalMs, clock } = deps;

  return {
    /** Samples due pairs, shared with other processes, for some seconds. */
    async run(ended: AbortSignal): Promise<{ sampled: number; without: number }> {
      const result = { sampled: 0, without: 0 };
      const untilMs = clock.nowMs() + RUN_MS;
      const lane = async (which: keyof typeof LANES) => {
        while (!ended.aborted && clock.nowMs() < untilMs) {
          const due = await pairs.claimDue(clock.now(), { intervalMs, isSound: which === 'sound' });
          if (!due) return;
          await sampleDue(deps, due, result);
        }
      };
      // Usually nothing is due.
      const first = await pairs.claimDue(clock.now(), { intervalMs, isSound: false });
      if (!first) return result;
      const sound = Array.from({ length: LANES.sound }, () => lane('sound'));
      const any = Array.from({ length: LANES.any - 1 }, () => lane('any'));
      await Promise.all([...sound, ...any, sampleDue(deps, first, result).then(() => lane('any'))]);
      if (result.sampled > 0) await samples.removeOld(clock.now(), ended);
      return result;
    },

    /** Keeps a pair sampled. A new pair is sampled at once, which is awaited briefly. Call it
     *  before storing what uses the pair. */
    async need(pair: Pair, accountId: string, until: Date = ahead(deps, NEEDED_FOR_MS / 2)): Promise<boolean> {
      const key = pairKey(pair);
      const now = clock.now();
      const known = await pairs.byId(key);
      if (!known && (await pairs.countOpenedBy(accountId)) >= MAX_PAIRS_PER_ACCOUNT) return false;
      // Many payers need a pair at once: write its need ahead, so that one write serves those
      // that follow.
      const neededUntil = new Date(until.getTime() + NEEDED_FOR_MS / 2);
      const isKept = known && known.neededUntil >= until;
      if (isKept || (known && (await pairs.needUntil(key, neededUntil)))) {
        if (known!.sampledAt === null) await within(clock, PATIENCE_MS, firstOf(deps, key), () => false);
        return true;
      }
      const opened = await pairs.open({
        _id: key,
        currency: pair.currency,
        assetCode: pair.asset.code,
        assetIssuer: pair.asset.issuer,
        network: pair.network,
        openedBy: accountId,
        openedAt: now,
        dueAt: ahead(deps, intervalMs),
        neededUntil,
        sampledAt: null,
        unconfirmed: null,
        trouble: null,
        answers: [],
        knownBy: [],
      });
      const first = opened
        ? sample(deps, pair, { _id: key, openedBy: accountId, unconfirmed: null, trouble: null })
        : firstOf(deps, key);
      await within(clock, PATIENCE_MS, first, () => false);
      return true;
    },
  };
}

const ahead = ({ clock }: SamplerDeps, ms: number) => new Date(clock.nowMs() + ms);

/** @returns whether a sample was stored */
async function sample(
  { take, log, pairs, clock, onDisagreed, samples, stamp }: SamplerDeps,
  pair: Pair,
  doc: Pick<RatePairDoc, '_id' | 'openedBy' | 'unconfirmed' | 'trouble' | 'answers' | 'knownBy'>,
): Promise<boolean> {
  const taken = await take(pair, { accountId: doc.openedBy, knownBy: doc.knownBy ?? [] });
  const none = async (reason: string, unconfirmed: RatePairDoc['unconfirmed']) => {
    // Once for each trouble, not with every attempt.
    if (doc.trouble?.reason !== reason) log.warn({ pair: doc._id, reason }, 'no sample of a rate');
    await pairs.noteTrouble(doc._id, { since: clock.now(), reason }, unconfirmed);
    return false;
  };
  if (taken.rate === null) {
    if (taken.disagreed) onDisagreed();
    return none(taken.reason, doc.unconfirmed);
  }
  const last = await samples.newest(doc._id);
  const before = last && parseRate(last.rate);
  const rate = formatRate(taken.rate);
  const { answers, sound, source } = taken;
  const jumped = doc.unconfirmed && {
    rate: parseRate(doc.unconfirmed.rate)!,
    suspects: doc.unconfirmed.suspects.map(readAnswer),
  };
  if (!countsNow(taken, before, jumped)) {
    const suspects = suspectsOf(answers, (doc.answers ?? []).map(readAnswer)).map(toStoredAnswer);
    return none(`it jumped from ${last!.rate} to ${rate}, which a newer answer has to confirm`, { rate, suspects });
  }
  const at = clock.now();
  const answeredAt = new Date(Math.min(at.getTime(), ...answers.map((answer) => answer.at.getTime())));
  const from = beginAfter(last, await stamp(pair.network));
  await samples.add({ pair: doc._id, rate, at, answeredAt, from, source }, last);
  await pairs.noteSample(doc._id, at, sound.map(toStoredAnswer));
  return true;
}

async function sampleDue(
  deps: SamplerDeps,
  doc: RatePairDoc,
  result: { sampled: number; without: number },
): Promise<void> {
  const { clock, isInUse, pairs } = deps;
  const pair = toPair(doc);
  if (doc.neededUntil <= clock.now()) {
    if (!(await isInUse(pair))) {
      await pairs.removeUnneeded(doc);
      return;
    }
    await pairs.needUntil(doc._id, ahead(deps, NEEDED_FOR_MS));
  }
  if (await sample(deps, pair, doc)) result.sampled += 1;
  else result.without += 1;
}

/** Waits while another request takes the pair's first sample. */
async function firstOf({ pairs, clock }: SamplerDeps, key: string): Promise<boolean> {
  for (;;) {
    const pair = await pairs.byId(key);
    const isBeingTaken = pair && pair.sampledAt === null && pair.trouble === null;
    if (!isBeingTaken || clock.nowMs() - pair.openedAt.getTime() > PATIENCE_MS) return false;
    await clock.sleep(LOOK_EVERY_MS);
  }
}

const toStoredAnswer = ({ of, rate, at }: RateAnswer): StoredAnswer => ({ of, rate: formatRate(rate), at });
const readAnswer = ({ of, rate, at }: StoredAnswer): RateAnswer => ({ of, rate: parseRate(rate)!, at });

const toPair = ({ currency, assetCode, assetIssuer, network }: RatePairDoc): Pair => ({
  currency,
  asset: { code: assetCode, issuer: assetIssuer },
  network,
});
