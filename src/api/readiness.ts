/** Why this process is not ready for work: MongoDB is away, a network is not being read, or the
 *  process is about to end; and what an operator should mend although it is. */

import type { Network } from '../../contracts/networks.js';
import { LAGGING_AFTER_MS } from '../domain/coverage.js';
import { isClockOff } from '../domain/ledger-time.js';
import { protocolWarning } from '../domain/stellar-sdk.js';
import { type Clock, within } from '../kit/clock.js';
import type { Database } from '../kit/database.js';
import type { MailStore } from '../mail/index.js';
import type { RatePairDoc, RatePairStore } from '../rates/index.js';
import type { NetworkStateDoc, NetworkStateStore, ParkedRecordStore } from '../watching/index.js';

/** A network that was never read has this long, from the start of this process. */
const FIRST_READ_MS = 20_000;
/** Records parked for longer are reported. */
const PARKED_AFTER_MS = 60_000;
/** E-mails that have waited longer, and as far as they are counted. */
const MAIL_WAITS_MS = 10 * 60_000;
const MOST_MAILS = 1000;

export interface Readiness {
  /** Empty when the process is ready. */
  reasons: readonly string[];
  /** Problems to mend that do not affect readiness. */
  warnings: readonly string[];
}

/** Probes give up after 2 s. */
const LOOK_MS = 1000;
const DATABASE_SILENT = 'MongoDB does not answer';
const WRITES_REFUSED = 'MongoDB refuses writes: is its disk full?';

const notReady = (reason: string): Readiness => ({ reasons: [reason], warnings: [] });

export function createReadiness(deps: {
  database: Pick<Database, 'ping' | 'refusesWrites'>;
  networkStates: NetworkStateStore;
  parkedRecords: Pick<ParkedRecordStore, 'countSince'>;
  /** Null where no source of rates is set. */
  ratePairs: Pick<RatePairStore, 'troubled'> | null;
  /** Null where no e-mail is sent. */
  mails: Pick<MailStore, 'waiting'> | null;
  networks: readonly Network[];
  clock: Clock;
}) {
  const { database, networkStates, parkedRecords, ratePairs, mails, networks, clock } = deps;
  const startedMs = clock.nowMs();
  let stopping = false;
  let looking: Promise<Readiness> | null = null;

  /** Records that are parked for a moment only are not worth a warning. */
  async function parkedWarnings(): Promise<string[]> {
    const before = new Date(clock.nowMs() - PARKED_AFTER_MS);
    const counts = await Promise.all(networks.map((network) => parkedRecords.countSince(network, before)));
    return networks.flatMap((network, index) =>
      counts[index]! > 0 ? [`${network}: ledger records are parked (${counts[index]}): see \`cli parked list\``] : [],
    );
  }

  async function mailWarnings(): Promise<string[]> {
    const waiting = await mails?.waiting(new Date(clock.nowMs() - MAIL_WAITS_MS), MOST_MAILS);
    if (!waiting) return [];
    const count = waiting.count === MOST_MAILS ? `${MOST_MAILS} or more` : waiting.count;
    return [`e-mails wait to be sent (${count})${waiting.error === null ? '' : `: ${waiting.error}`}`];
  }

  async function look(): Promise<Readiness> {
    try {
      await database.ping();
      if (database.refusesWrites()) return notReady(WRITES_REFUSED);
      const states = new Map((await networkStates.all()).map((state) => [state._id, state]));
      const unread = await networkStates.troublesOfUnread();
      const reasons = networks.flatMap((network) => {
        const state = states.get(network);
        const silentMs = clock.nowMs() - (state?.seenAt.getTime() ?? startedMs);
        if (silentMs <= (state ? LAGGING_AFTER_MS : FIRST_READ_MS)) return [];
        const trouble = state ? state.trouble?.reason : unread.get(network);
        const why = trouble === undefined ? '' : `: ${trouble}`;
        return [`${network} has not been read for ${Math.round(silentMs / 1000)} s${why}`];
      });
      const watched = networks.flatMap((network) => states.get(network) ?? []);
      const troubled = (await ratePairs?.troubled(MOST_TROUBLED)) ?? [];
      const others = [...(await parkedWarnings()), ...troubled.map(rateWarningOf), ...(await mailWarnings())];
      return { reasons, warnings: [...watched.flatMap(warningsOf), ...others] };
    } catch {
      return notReady(DATABASE_SILENT);
    }
  }

  return {
    /** Makes the process unready, so that load balancers send requests elsewhere. */
    stop: () => {
      stopping = true;
    },
    /** Concurrent checks share one question to the database. */
    async check(): Promise<Readiness> {
      if (stopping) return notReady('the process is stopping');
      looking ??= within(clock, LOOK_MS, look(), () => notReady(DATABASE_SILENT)).finally(() => {
        looking = null;
      });
      return looking;
    },
  };
}

/** Reported pairs without a rate. */
const MOST_TROUBLED = 10;

const rateWarningOf = ({ _id, trouble }: RatePairDoc): string =>
  `no sample of the rate ${_id} since ${trouble!.since.toISOString()}: ${trouble!.reason}`;

function warningsOf({ _id, clockAheadMs, clockHost, sourceWarning, protocol }: NetworkStateDoc): string[] {
  const warnings: string[] = [];
  if (isClockOff(clockAheadMs)) {
    const seconds = Math.round(Math.abs(clockAheadMs) / 1000);
    const side = clockAheadMs < 0 ? 'behind' : 'ahead of';
    warnings.push(
      `the clock of ${clockHost ?? 'the worker'} is ${seconds} s ${side} the close times of ${_id}: set it`,
    );
  }
  for (const warning of [sourceWarning, protocolWarning(protocol)]) if (warning) warnings.push(`${_id}: ${warning}`);
  return warnings;
}
