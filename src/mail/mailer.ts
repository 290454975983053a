/** Sends the e-mails that are due, and nothing else waits for it. Accounts take turns, one e-mail
 *  each, so that thousands of one account delay no other; several workers share the work by a
 *  lease of each e-mail. After a crash it is sent again: at least once. */
import type { Logger } from 'pino';
import { judgeAttempt, type RetrySettings } from '../domain/retry.js';
import { type Clock, type MonotonicClock, monotonicClock } from '../kit/clock.js';
import { createLoop } from '../kit/loop.js';
import type { MailDoc, MailResult, MailStore } from './mail-store.js';
import type { Render } from './render.js';
import { ATTEMPT_MS, type SendResult, type Transport } from './transport.js';

export interface MailerDeps {
  mails: MailStore;
  render: Render;
  transport: Pick<Transport, 'send'>;
  /** Stores e-mails about failing webhooks. */
  tellOfFailing: () => Promise<void>;
  /** Unique per process. */
  holder: string;
  clock: Clock;
  monotonic?: MonotonicClock;
  log: Logger;
  settings: RetrySettings & { mostOfDay: number };
  /** For metrics. */
  onAttempt?: (status: MailDoc['status']) => void;
}

/** At once, in all and of one account: a mail server takes no more kindly. */
const IN_FLIGHT = 8;
const IN_FLIGHT_OF_ACCOUNT = 2;
/** The same with those that give their place to others, because the server hangs for them. */
const SLOW_AFTER_MS = 5000;
const IN_FLIGHT_WITH_SLOW = 40;
const IN_FLIGHT_OF_ACCOUNT_WITH_SLOW = 8;
const LEASE_MS = ATTEMPT_MS + 30_000;
const POLL_MS = 500;
const FAILING_LOOK_MS = 5000;
const WAIT_AFTER_FAULT_MS = 1000;
/** The mail server's first rest. */
const REST_MS = 1000;
const LONGEST_REST_MS = 30_000;
/** Who refuses an address hardly takes it later. */
const ATTEMPTS_OF_REFUSED = 3;
/** For what is in flight when the process ends. */
const GRACE_MS = 7000;

export type Mailer = ReturnType<typeof createMailer>;

export function createMailer(deps: MailerDeps) {
  const { mails, holder, clock, monotonic = monotonicClock, log } = deps;
  const flights = new Flights(monotonic);
  const server = new ServerRest(clock);
  let lastServed = '';
  let lookAtFailingMs = 0;
  let attempts = 0;

  async function attempt(mail: MailDoc): Promise<void> {
    const result = await resultOf(deps, mail, (sent) => server.note(sent));
    attempts += 1;
    deps.onAttempt?.(result.status);
    await mails.record(mail, result);
  }

  function begin(mail: MailDoc): void {
    const sent = attempt(mail).catch((err) =>
      log.error({ err, mailId: mail._id }, 'result of an e-mail not recorded: it is sent again'),
    );
    flights.add(mail.accountId, sent, () => {
      if (!server.isResting()) rounds.wake();
    });
  }

  /** Begins one due e-mail of each account, as far as there is room, after the account that had the
   *  last turn. @returns how many were begun */
  async function round(stop: AbortSignal): Promise<number> {
    let begun = 0;
    for (const accountId of inTurn(await mails.dueAccounts(clock.now()), lastServed)) {
      if (!flights.hasRoom() || stop.aborted || server.isResting()) break;
      if (!flights.hasRoomFor(accountId)) continue;
      lastServed = accountId;
      const mail = await mails.claim(accountId, clock.now(), { holder, leaseMs: LEASE_MS });
      if (!mail) continue;
      begin(mail);
      begun += 1;
    }
    return begun;
  }

  async function lookAtFailing(): Promise<void> {
    if (monotonic.nowMs() < lookAtFailingMs) return;
    lookAtFailingMs = monotonic.nowMs() + FAILING_LOOK_MS;
    await deps.tellOfFailing();
  }

  const rounds = createLoop({
    async step(stop) {
      await lookAtFailing();
      return (await round(stop)) > 0 ? 0 : POLL_MS;
    },
    onError(err) {
      log.error({ err }, 'e-mails not sent yet; trying again');
      return WAIT_AFTER_FAULT_MS;
    },
    clock,
  });

  return {
    /** Sends what is due until `enough` aborts. When the process ends it waits a while for what is
     *  in flight; else that goes on beside the next run.
     *  @returns how many attempts ended meanwhile */
    async run({ enough, ended }: Record<'enough' | 'ended', AbortSignal>): Promise<{ attempts: number }> {
      const before = attempts;
      await rounds.run(enough);
      const done = new AbortController();
      if (ended.aborted) await Promise.race([Promise.all(flights.all), monotonic.sleep(GRACE_MS, done.signal)]);
      done.abort();
      return { attempts: attempts - before };
    },
  };
}

/** The accounts in order, beginning after the last turn. */
function inTurn(accountIds: readonly string[], last: string): string[] {
  const sorted = [...accountIds].sort();
  const from = sorted.findIndex((accountId) => accountId > last);
  return from > 0 ? [...sorted.slice(from), ...sorted.slice(0, from)] : sorted;
}

/** E-mails being sent. One that takes long gives its place to others, so that a server that hangs
 *  for some recipients holds up few. */
class Flights {
  readonly all = new Set<Promise<void>>();
  /** The accounts of all, and of those that still have their place. */
  readonly #accounts: string[] = [];
  readonly #quick: string[] = [];
  readonly #monotonic: MonotonicClock;

  constructor(monotonic: MonotonicClock) {
    this.#monotonic = monotonic;
  }

  hasRoom(): boolean {
    return this.#quick.length < IN_FLIGHT && this.#accounts.length < IN_FLIGHT_WITH_SLOW;
  }

  hasRoomFor(accountId: string): boolean {
    const countIn = (accounts: readonly string[]) => accounts.filter((each) => each === accountId).length;
    return countIn(this.#quick) < IN_FLIGHT_OF_ACCOUNT && countIn(this.#accounts) < IN_FLIGHT_OF_ACCOUNT_WITH_SLOW;
  }

  /** @param sent never rejects @param onRoom called when it gives its place to others, and when
   *  it ends */
  add(accountId: string, sent: Promise<void>, onRoom: () => void): void {
    const ended = new AbortController();
    this.#accounts.push(accountId);
    this.#quick.push(accountId);
    const placed = this.#monotonic.sleep(SLOW_AFTER_MS, ended.signal).then(() => {
      removeOne(this.#quick, accountId);
      onRoom();
    });
    const flight = sent.finally(async () => {
      this.all.delete(flight);
      removeOne(this.#accounts, accountId);
      ended.abort();
      await placed;
    });
    this.all.add(flight);
  }
}

function removeOne(accounts: string[], accountId: string): void {
  accounts.splice(accounts.indexOf(accountId), 1);
}

/** While the mail server is away, attempts become less and less frequent. */
class ServerRest {
  #failures = 0;
  #untilMs = 0;
  readonly #clock: Clock;

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  isResting(): boolean {
    const leftMs = this.#untilMs - this.#clock.nowMs();
    // One that lies further ahead is of before the clock was set back.
    return leftMs > 0 && leftMs <= LONGEST_REST_MS;
  }

  note({ isAway }: Pick<SendResult, 'isAway'>): void {
    if (!isAway) this.#failures = 0;
    else if (!this.isResting()) {
      this.#untilMs = this.#clock.nowMs() + Math.min(LONGEST_REST_MS, REST_MS * 2 ** this.#failures);
      this.#failures += 1;
    }
  }
}

/** Makes one attempt. @param onSent called with the server's state */
async function resultOf(
  { mails, render, transport, clock, log, settings }: MailerDeps,
  mail: MailDoc,
  onSent: (result: SendResult) => void,
): Promise<MailResult> {
  const { mostOfDay } = settings;
  const failed = (lastError: string): MailResult => ({
    status: 'FAILED',
    nextAttemptAt: null,
    lastError,
    at: clock.now(),
  });
  // An attempt that ended with its process left no record.
  if (mail.attemptCount > settings.maxAttempts) return failed('not sent in time');
  const isFirst = mail.sort === 'receipt' && mail.attemptCount === 1;
  if (isFirst && (await mails.countOfDay(mail, mostOfDay + 1)) > mostOfDay) {
    const error = `more than ${mostOfDay} receipts in a day`;
    await mails.dropDue(mail, error, clock.now());
    return { status: 'DROPPED', nextAttemptAt: null, lastError: error, at: clock.now() };
  }
  const result = await writeAndSend();
  if (!result) return failed('what it was about no longer exists');
  const { error, isRefused, cause } = result;
  if (error !== null)
    log.warn({ err: cause, mailId: mail._id, attempt: mail.attemptCount }, `e-mail not sent: ${error}`);
  const maxAttempts = isRefused ? Math.min(ATTEMPTS_OF_REFUSED, settings.maxAttempts) : settings.maxAttempts;
  const answer = { responseStatus: null, error, retryAfterMs: null };
  const limits = { ...settings, maxAttempts };
  const { status, nextAttemptAt } = judgeAttempt(answer, mail.attemptCount, clock.nowMs(), clock.random(), limits);
  return { status: status === 'DELIVERED' ? 'SENT' : status, nextAttemptAt, lastError: error, at: clock.now() };

  async function writeAndSend(): Promise<SendResult | null> {
    try {
      const outgoing = await render(mail);
      if (!outgoing) return null;
      const sent = await transport.send(outgoing);
      onSent(sent);
      return sent;
    } catch (cause) {
      return { error: 'not written', isRefused: false, isAway: false, cause };
    }
  }
}
