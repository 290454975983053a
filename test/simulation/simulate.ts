/** One seed: a world with two workers, an API, a merchant who changes his mind, payers, and everything that can go wrong; then calm; then the checks. */
import { Keypair } from '@stellar/stellar-sdk';
import { createSecretBox } from '../../src/domain/secrets.js';
import type { Caller } from '../../src/services/caller.js';
import type { DatabaseServer, SimulatedDatabase } from './database.js';
import { createNetwork } from './ledger.js';
import {
  checkAll,
  checkSettled,
  checkSync,
  forgotten,
  type Knowledge,
  missing,
  newKnowledge,
  undelivered,
} from './oracle.js';
import {
  type Api,
  Died,
  newProcess,
  type SimulatedProcess,
  type Surroundings,
  startApi,
  startWorker,
} from './processes.js';
import { createRandom } from './random.js';
import { createReceiver } from './receiver.js';
import { createWorld, type World } from './world.js';

export interface Outcome {
  seed: number;
  violations: string[];
  steps: number;
  crashes: number;
  payments: number;
  arrivals: number;
}

const keypairs = Array.from({ length: 8 }, (_, n) => Keypair.fromRawEd25519Seed(Buffer.alloc(32, n + 40)).publicKey());
const [PAYER, ISSUER, STRANGER, ...ADDRESSES] = keypairs as [string, string, string, ...string[]];
const ACCOUNTS = ['acct_a', 'acct_b'];
const MAX_STEPS = 12_000;
const SETTINGS = { timeoutMs: 3000, retryBaseMs: 300, maxAttempts: 4, pageLimit: 3, readOneByOne: 2 };

const caller = (accountId: string): Caller => ({ accountId, keyId: 'key_1', scope: 'FULL' });

export async function simulate(
  server: DatabaseServer,
  seed: number,
  trace: ((line: string) => void) | null = null,
): Promise<Outcome> {
  const random = createRandom(seed);
  // What kind of world it is.
  const turmoil = {
    crash: random.chance(0.75) ? random.next() * 0.03 : 0,
    database: random.chance(0.5) ? random.next() * 0.02 : 0,
    slowDatabase: random.chance(0.4) ? random.next() * 0.04 : 0,
    stalls: random.chance(0.08),
    horizon: random.chance(0.7) ? random.next() * 0.25 : 0,
    bases: random.between(1, 2),
    lag: random.chance(0.3) ? random.between(1, 4) : 0,
    unevenness: random.chance(0.1) ? random.between(1, 4) : 0,
    retention: random.chance(0.25),
    reset: random.chance(0.12),
    wallets: random.between(1, 5),
    merchant: random.between(2, 12),
    ledgers: random.between(5, 14),
    gracefulStops: random.chance(0.2),
    clockJumps: random.chance(0.2),
  };
  // Horizon is away so long that the feed leaves behind what it missed.
  const outage = random.chance(0.12) ? { from: 2, until: 2 + random.between(12, 20) } : null;
  if (outage) turmoil.ledgers = outage.until + random.between(1, 5);
  // Long enough for wallets to be let go.
  if (random.chance(0.1)) {
    turmoil.ledgers += random.between(15, 25);
    turmoil.merchant += random.between(8, 16);
  }
  // A page from a server that lags, at the very edge of what is kept: nobody could notice.
  if (turmoil.retention) turmoil.unevenness = 0;
  const known = newKnowledge();
  known.stalls = turmoil.stalls;
  known.isUneven = turmoil.unevenness > 0;
  const violations: string[] = [];
  const settled = new Map<string, string>();
  const processes = new Set<SimulatedProcess>();
  let calm = false;
  let crashes = 0;
  let world!: World;

  const database: SimulatedDatabase & { release?(): void } = await server.open({
    plan: () => {
      const longest = turmoil.stalls ? 9000 : 1200;
      const slow = () => (!calm && random.chance(turmoil.slowDatabase) ? random.between(20, longest) : 0);
      const fails = !calm && random.chance(turmoil.database);
      return {
        delayMs: slow(),
        heardAfterMs: slow(),
        fault: fails ? random.pick(['refused', 'unheard'] as const) : null,
      };
    },
  });
  const network = createNetwork({ random, world: () => world, issuer: ISSUER, payer: PAYER });
  const receiver = createReceiver({ random, world: () => world, timeoutMs: SETTINGS.timeoutMs });
  world = createWorld({
    random,
    trace,
    crash: () => {
      if (calm || !random.chance(turmoil.crash)) return null;
      return random.chance(0.5) ? 'before' : 'after';
    },
    onKill: async (process) => {
      crashes += 1;
      (process as SimulatedProcess).die('killed');
      await database.forget(process);
    },
    afterStep: async ({ label, process }) => {
      if (process === null) return;
      const faults: string[] = [];
      if (/^(update|findAndModify) deliveries/.test(label))
        faults.push(...checkSettled(known, await database.docs('deliveries'), settled));
      if (/^(commit|update (cursors|wallets)|findAndModify wallets|delete cursors|insert payments)/.test(label)) {
        const [wallets, cursors, networkStates, payments] = await Promise.all(
          ['wallets', 'cursors', 'networkStates', 'payments'].map((each) => database.docs(each)),
        );
        const stored = { wallets: wallets!, cursors: cursors!, networkStates: networkStates!, payments: payments! };
        faults.push(...checkSync(known, network, stored, world.nowMs()));
      }
      for (const fault of faults) {
        if (violations.includes(fault)) continue;
        violations.push(fault);
        world.log(`!!! ${fault}`);
      }
    },
  });
  const around: Surroundings = { world, database, network, receiver, settings: SETTINGS };
  const sleep = (ms: number) => world.sleep(ms, null);

  for (let base = 0; base < turmoil.bases; base++)
    network.bases.push({
      faultiness: turmoil.horizon,
      // The last base lags, so that a failover goes back in time.
      lag: base === turmoil.bases - 1 ? turmoil.lag : 0,
      unevenness: turmoil.unevenness,
      stutters: random.chance(0.2),
    });
  const closeLedger = () => {
    network.close(world.nowMs());
    const { sequence, closedMs } = network.latest();
    known.ledgers.push({ chain: network.chain(), sequence, closedMs });
    world.log(`ledger ${sequence} closes`);
  };
  closeLedger();

  let names = 0;
  const live = (kind: string): SimulatedProcess => {
    const process = newProcess(`${kind}${++names}`, world);
    processes.add(process);
    return process;
  };

  /** Always there, but for the time between a death and a restart. */
  async function keepWorker(index: number): Promise<void> {
    await sleep(index * random.between(0, 3000));
    for (;;) {
      const process = live(`worker${index}-`);
      world.log(`${process.name} starts`);
      const { stop } = startWorker(process, around);
      if (!calm && turmoil.gracefulStops) {
        void sleep(random.between(500, 9000)).then(async () => {
          if (!process.alive || calm) return;
          world.log(`${process.name} is stopped`);
          await stop();
          world.log(`${process.name} has stopped`);
          process.alive = false;
          process.die('stopped');
        });
      }
      await process.death.catch(() => undefined);
      await sleep(calm ? 0 : random.between(0, 4000));
    }
  }

  let api: Api = startApi(live('api'), around);
  const openApi = async () => {
    if (api.process.alive) return api;
    await sleep(calm ? 0 : random.between(0, 1500));
    api = startApi(live('api'), around);
    return api;
  };

  /** Does one thing and finds out what came of it, whether it was answered or not. */
  async function act(what: string, work: (api: Api) => Promise<unknown>): Promise<boolean> {
    const open = await openApi();
    const fromMs = world.nowMs();
    known.actingSinceMs = fromMs;
    world.log(`merchant: ${what}`);
    let done = true;
    try {
      await Promise.race([work(open), open.process.death]);
    } catch (error) {
      done = false;
      world.log(`merchant: ${what} failed: ${(error as Error).message}`);
      if (!(error instanceof Died) && /is not a function|undefined/.test((error as Error).message)) throw error;
    }
    await world.hold(learn(known, database, fromMs, world.nowMs()));
    known.actingSinceMs = null;
    return done;
  }

  /** Whoever is impatient clicks twice. One of the two may be refused. */
  async function impatiently(first: Promise<unknown>, again: () => Promise<unknown>): Promise<void> {
    const clicks = await Promise.allSettled(random.chance(0.4) ? [first, again()] : [first]);
    const failed = clicks.filter((click) => click.status === 'rejected');
    if (failed.length === clicks.length) throw failed[0]!.reason;
  }

  const accountOf = (index: number) => ACCOUNTS[index % 2]!;
  const payable = () => [...new Set([...known.wallets.values()].map(({ address }) => address))];

  async function merchant(): Promise<void> {
    const makeWallet = (index: number) => {
      const accountId = accountOf(random.chance(0.8) ? 0 : 1);
      return act(`makes wallet ${index}`, ({ wallets }) =>
        wallets.create(caller(accountId), {
          name: 'w',
          address: ADDRESSES[index % ADDRESSES.length]!,
          network: 'LOCAL',
        }),
      );
    };
    const makeProduct = () => {
      const wallet = random.pick([...known.wallets]);
      if (!wallet) return;
      const [walletId, { accountId }] = wallet;
      const fixed = random.chance(0.7);
      const usdc = random.chance(0.3);
      return act('makes a product', ({ products }) =>
        products.create(caller(accountId), {
          name: 'p',
          walletId,
          assetCode: usdc ? 'USDC' : 'XLM',
          assetIssuer: usdc ? ISSUER : null,
          priceType: fixed ? 'FIXED' : 'CUSTOM',
          price: fixed ? '10' : null,
          minAmount: fixed ? null : random.pick([null, '10']),
          active: true,
        } as never),
      );
    };
    const makeLink = () => {
      const product = random.pick([...known.products]);
      if (!product) return;
      return act('makes a link', ({ paymentLinks }) =>
        paymentLinks.create(caller(product[1].accountId), { productId: product[0] }),
      );
    };
    const makeWebhook = (n: number) => {
      const accountId = accountOf(random.chance(0.8) ? 0 : 1);
      const url = `https://shop${n}.test/hook`;
      receiver.endpoints.set(url, {
        failing: random.chance(0.5) ? random.next() * 0.5 : 0,
        hanging: random.chance(0.2) ? 0.2 : 0,
        gone: random.chance(0.15) ? 0.2 : 0,
      });
      return act(`makes webhook ${n}`, async ({ webhooks }) => {
        const made = await webhooks.create(caller(accountId), {
          name: 'h',
          url,
          events: random.pick([
            ['payment.received', 'payment.completed'],
            ['payment.completed'],
            ['payment.received', 'payment.completed'],
          ]),
        } as never);
        return made;
      });
    };
    let hooks = 0;
    for (let index = 0; index < turmoil.wallets; index++) await makeWallet(index);
    for (let n = 0; n < random.between(1, 2); n++) await makeProduct();
    for (let n = 0; n < random.between(1, 3); n++) await makeLink();
    for (let n = 0; n < random.between(0, 2); n++) await makeWebhook(hooks++);

    for (let n = 0; n < turmoil.merchant && !calm; n++) {
      await sleep(random.between(100, 2500));
      if (calm) break;
      const wallet = random.pick([...known.wallets]);
      const product = random.pick([...known.products]);
      const link = random.pick([...known.links]);
      const hook = random.pick([...known.webhooks].filter(([, { deletedMs }]) => deletedMs === null));
      switch (random.int(12)) {
        case 0:
        case 1:
        case 2:
          if (wallet) {
            const [id, { accountId, active }] = wallet;
            // Who changes his mind does so at once.
            for (let times = random.chance(0.3) ? random.between(2, 3) : 1; times > 0; times--) {
              const next = !active.at(-1)!.value;
              await act(`makes wallet ${id.slice(-6)} ${next ? 'active' : 'inactive'}`, ({ wallets }) =>
                wallets.update(caller(accountId), { id, active: next }),
              );
            }
          }
          break;
        case 3:
          await makeWallet(random.int(ADDRESSES.length));
          break;
        case 4:
        case 5:
          if (product) {
            const [id, { accountId, terms }] = product;
            const last = terms.at(-1)!.value;
            const changes = random.chance(0.4)
              ? { active: !last.active }
              : last.priceType === 'FIXED'
                ? { price: random.pick(['9', '10', '11']) }
                : { minAmount: random.pick([null, '9', '11']) };
            await act(`changes the product to ${JSON.stringify(changes)}`, ({ products }) =>
              products.update(caller(accountId), { id, ...changes }),
            );
          } else await makeProduct();
          break;
        case 6:
          if (link) {
            const [id, { accountId, active }] = link;
            await act('turns the link on or off', ({ paymentLinks }) =>
              paymentLinks.update(caller(accountId), { id, active: !active.at(-1)!.value }),
            );
          } else await makeLink();
          break;
        case 7: {
          const taken = random.pick(
            (await world.hold(database.docs('payments'))).filter(
              ({ status }) => status === 'UNDERPAID' || status === 'REJECTED',
            ),
          );
          if (!taken) break;
          known.accepted.add(taken._id);
          const accept = ({ payments }: Api) => payments.accept(caller(taken.accountId), { id: taken._id });
          await act('accepts a payment', (api) => impatiently(accept(api), () => accept(api)));
          break;
        }
        case 8: {
          const open = random.pick(
            (await world.hold(database.docs('payments'))).filter(({ status }) => status === 'UNMATCHED'),
          );
          const targets = [...known.links].filter(([, { accountId }]) => accountId === open?.accountId);
          if (!open || targets.length === 0) break;
          const assign = ({ payments }: Api) =>
            payments.assign(caller(open.accountId), { id: open._id, paymentLinkId: random.pick(targets)[0] });
          await act('assigns a payment', (api) => impatiently(assign(api), () => assign(api)));
          break;
        }
        case 9:
          if (!hook) break;
          {
            const [id, { accountId }] = hook;
            if (random.chance(0.3))
              await act('deletes a webhook', ({ webhooks }) => webhooks.delete(caller(accountId), { id }));
            else
              for (let times = random.chance(0.3) ? random.between(2, 3) : 1; times > 0; times--) {
                const status = (await world.hold(database.docs('webhooks'))).find(({ _id }) => _id === id)?.status;
                await act('pauses or resumes a webhook', ({ webhooks }) =>
                  webhooks.update(caller(accountId), { id, status: status === 'ACTIVE' ? 'PAUSED' : 'ACTIVE' }),
                );
              }
          }
          break;
        case 10:
          if (!hook) break;
          await act('rotates a secret', ({ webhooks }) =>
            webhooks.rotateSecret(caller(hook[1].accountId), { id: hook[0] }),
          );
          break;
        default: {
          const delivered = random.pick(
            (await world.hold(database.docs('deliveries'))).filter(({ status }) => status !== 'CANCELLED'),
          );
          if (!delivered || random.chance(0.5)) {
            if (hooks < 3) await makeWebhook(hooks++);
            break;
          }
          known.redelivered.push({ deliveryId: delivered._id, atMs: world.nowMs() });
          await act('redelivers', ({ deliveries }) =>
            deliveries.redeliver(caller(delivered.accountId), { id: delivered._id }),
          );
          known.redelivered.push({ deliveryId: delivered._id, atMs: world.nowMs() });
        }
      }
    }
  }

  function pay(): void {
    const receivers = payable();
    if (receivers.length === 0) return;
    const links = [...known.links.values()];
    const draw = random.next();
    const memo =
      draw < 0.1 || links.length === 0
        ? ({ type: 'none', text: null } as const)
        : draw < 0.15
          ? ({ type: 'id', text: '42' } as const)
          : draw < 0.25
            ? ({ type: 'text', text: 'hello' } as const)
            : ({
                type: 'text',
                text: random.chance(0.2) ? ` ${random.pick(links).memo.toLowerCase()}` : random.pick(links).memo,
              } as const);
    const usdc = random.chance(0.3);
    network.send({
      receiver: random.chance(0.1) ? STRANGER : random.pick(receivers),
      asset: usdc ? { code: 'USDC', issuer: ISSUER } : { code: 'XLM', issuer: null },
      stroops: BigInt(random.pick([89_999_999, 90_000_000, 100_000_000, 100_000_001, 110_000_000, 1])),
      memo,
      shape: random.chance(0.7)
        ? 'payment'
        : random.pick(['unjoined', 'create', 'merge', 'host', 'failed', 'self', 'unknown'] as const),
    });
  }

  async function payers(): Promise<void> {
    for (let n = 0; n < turmoil.ledgers || !calm; n++) {
      await sleep(random.between(800, 3000));
      if (outage && n === outage.from) world.log('Horizon is away');
      if (outage && n === outage.until) world.log('Horizon is back');
      network.state.isAway = outage !== null && n >= outage.from && n < outage.until;
      // What began anew before it was ever looked at cannot be told from what it was.
      const isAnchored = (await world.hold(database.docs('networkStates'))).some(({ anchor }) => anchor);
      for (let count = random.chance(0.15) ? 7 : random.int(4); count > 0; count--) pay();
      if (!calm && turmoil.reset && isAnchored && known.resetsMs.length === 0 && random.chance(0.25)) {
        known.resetsMs.push(Math.floor(world.nowMs() / 1000) * 1000);
        network.reset(world.nowMs());
        world.log('the network begins anew');
        const { sequence, closedMs } = network.latest();
        known.ledgers.push({ chain: network.chain(), sequence, closedMs });
      } else {
        closeLedger();
      }
      if (!calm && turmoil.retention && random.chance(0.3)) {
        network.retain(random.between(1, 4));
        world.log(`Horizon keeps ledgers from ${network.elder()}`);
      }
      if (n + 1 === turmoil.ledgers) break;
    }
    // Ledgers go on closing, empty ones.
    for (;;) {
      await sleep(1500);
      closeLedger();
    }
  }

  /** Somebody sets the clocks of the workers, up to half a minute wrong, until it is calm. */
  async function setClocks(): Promise<void> {
    while (turmoil.clockJumps && !calm) {
      await sleep(random.between(500, 6000));
      if (calm) break;
      const process = random.pick([...processes].filter(({ alive, name }) => alive && name.startsWith('worker')));
      if (!process) continue;
      process.clockOffsetMs = random.between(-30_000, 30_000);
      world.log(`the clock of ${process.name} is set ${process.clockOffsetMs} ms wrong`);
    }
    for (const process of processes) process.clockOffsetMs = 0;
  }

  const work = { failed: null as Error | null, merchant: false };
  const fail = (error: Error) => {
    work.failed = error;
  };
  void keepWorker(0).catch(fail);
  void keepWorker(1).catch(fail);
  void payers().catch(fail);
  void setClocks().catch(fail);
  void merchant().then(() => {
    work.merchant = true;
  }, fail);

  const readAll = async () => {
    const collections = ['wallets', 'cursors', 'networkStates', 'payments', 'paymentLinks', 'events'];
    const [wallets, cursors, networkStates, payments, links, events, deliveries, webhooks, parkedRecords] =
      await Promise.all([...collections, 'deliveries', 'webhooks', 'parkedRecords'].map((each) => database.docs(each)));
    return {
      wallets: wallets!,
      cursors: cursors!,
      networkStates: networkStates!,
      payments: payments!,
      links: links!,
      events: events!,
      deliveries: deliveries!,
      webhooks: webhooks!,
      parkedRecords: parkedRecords!,
    };
  };

  try {
    const endMs = world.nowMs() + turmoil.ledgers * 2200;
    await world.run(() => work.failed !== null || (work.merchant && world.nowMs() > endMs), MAX_STEPS);
    if (work.failed) throw work.failed;
    calm = true;
    world.log('calm');
    network.calm();
    receiver.calm();
    // Everything that is asked for now is answered; it takes a while until everybody has waited long enough.
    for (let round = 0; ; round++) {
      const untilMs = world.nowMs() + 4000;
      await world.run(() => work.failed !== null || world.nowMs() >= untilMs, MAX_STEPS);
      if (work.failed) throw work.failed;
      const stored = await readAll();
      const settled =
        undelivered(stored).length === 0 &&
        missing(known, network, stored, () => Number.POSITIVE_INFINITY).length === 0 &&
        forgotten(known, network, stored).length === 0 &&
        round >= 1;
      if (!settled && round < 20) continue;
      violations.push(
        ...checkAll(known, network, receiver, stored, SETTINGS).filter((each) => !violations.includes(each)),
      );
      break;
    }
  } catch (error) {
    violations.push((error as Error).stack ?? String(error));
  }
  const died = crashes;
  for (const process of processes) await world.kill(process, 'at the end');
  for (const process of processes) process.buried.abort();
  database.release?.();
  const { length: payments } = await database.docs('payments');
  return {
    seed,
    violations,
    steps: world.steps,
    crashes: died,
    payments,
    arrivals: receiver.arrivals.length,
  };
}

/** Compares what is stored with what was known, and dates every difference. */
async function learn(known: Knowledge, database: SimulatedDatabase, fromMs: number, untilMs: number): Promise<void> {
  const [wallets, products, links, webhooks, payments] = await Promise.all(
    ['wallets', 'products', 'paymentLinks', 'webhooks', 'payments'].map((each) => database.docs(each)),
  );
  for (const { _id, accountId, address, active } of wallets!) {
    const wallet = known.wallets.get(_id) ?? {
      accountId,
      address,
      active: [{ value: false, fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY }],
    };
    if (wallet.active.at(-1)!.value !== active) wallet.active.push({ value: active, fromMs, untilMs });
    known.wallets.set(_id, wallet);
  }
  for (const { _id, accountId, active, assetCode, assetIssuer, priceType, price, minAmount } of products!) {
    const terms = { active, assetCode, assetIssuer, priceType, price, minAmount };
    const product = known.products.get(_id);
    if (!product)
      known.products.set(_id, {
        accountId,
        terms: [{ value: terms, fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY }],
      });
    else if (JSON.stringify(product.terms.at(-1)!.value) !== JSON.stringify(terms))
      product.terms.push({ value: terms, fromMs, untilMs });
  }
  for (const { _id, accountId, productId, memo, active } of links!) {
    const link = known.links.get(_id);
    if (!link)
      known.links.set(_id, {
        accountId,
        productId,
        memo,
        active: [{ value: active, fromMs: Number.NEGATIVE_INFINITY, untilMs: Number.NEGATIVE_INFINITY }],
      });
    else if (link.active.at(-1)!.value !== active) link.active.push({ value: active, fromMs, untilMs });
  }
  for (const webhook of webhooks!) {
    const { _id, accountId, url, events } = webhook;
    const secrets = secretsOf(webhook);
    const before = known.webhooks.get(_id);
    const seen = before?.secrets ?? new Map();
    for (const secret of secrets) if (!seen.has(secret)) seen.set(secret, { goneMs: null });
    for (const [secret, state] of seen) if (!secrets.includes(secret)) state.goneMs ??= untilMs;
    if (!before) known.webhooks.set(_id, { accountId, url, events, madeMs: untilMs, deletedMs: null, secrets: seen });
  }
  const ids = new Set(webhooks!.map(({ _id }) => _id));
  for (const [id, webhook] of known.webhooks) if (!ids.has(id)) webhook.deletedMs ??= fromMs;
  for (const { _id, paymentLinkId, memo } of payments!) {
    if (paymentLinkId && known.links.get(paymentLinkId)?.memo !== memo?.trim().toUpperCase())
      known.assigned.set(_id, paymentLinkId);
  }
}

function secretsOf(webhook: Record<string, any>): string[] {
  const box = createSecretBox(Buffer.alloc(32, 7), { randomBytes: (size) => Buffer.alloc(size) });
  return webhook.secrets.map(({ sealed }: { sealed: string }) => box.open(sealed, webhook._id));
}
