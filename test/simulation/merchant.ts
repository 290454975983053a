/** The merchants: they set up shop, then change wallets, products, links and webhooks, and decide
 *  about payments, all through the API. */
import { mongo } from 'mongoose';
import { ApiError } from '../../src/kit/api-error.js';
import { decideAfterRefund } from './decider.js';
import { type Doc, learn } from './knowledge.js';
import { CURRENCY } from './market.js';
import { stroops } from './oracle/verdicts.js';
import { type Api, Died } from './processes.js';
import { giveBack } from './refunder.js';
import { ACCOUNTS, ADDRESSES, callerOf, ISSUER, type Run, STRANGER } from './run.js';
import type { Supervisor } from './supervisor.js';

const MAX_WEBHOOKS = 3;
const OWN_RATES = ['0.3', '0.5', '0.21'] as const;
const TOLERANCES = ['0', '2.5', '5'] as const;
const STOCK = 4;
const COUPON = { code: 'TENTH', percentOff: '10', maxRedemptions: 3 } as const;
const ORDER_FORM = { fields: [], coupons: true, minutes: 5 };
const MOST_ORDERS = 2;
const MARKUPS = ['0', '2', '10'] as const;
const WALLETS_AFTER_RESET = 2;
const MEMO_BYTES = 28;
/** The shortest lifetime that the API allows. */
const CHECKOUT_LIFE_MS = 60_000;

/** How an action may fail. Anything else is a mistake of the simulation or the service. */
const EXPECTED = [ApiError, Died, mongo.MongoServerError] as const;

export class Merchant {
  #webhooks = 0;
  #walletsAfterReset = 0;

  constructor(
    private readonly run: Run,
    private readonly supervisor: Supervisor,
  ) {}

  async work(): Promise<void> {
    const { run } = this;
    const { random, scenario, scheduler } = run;
    await this.#setUp();
    for (let n = 0; n < scenario.merchantActs && !run.isCalm; n++) {
      const isHasty = run.hardships.walletsAfterReset !== null;
      const longestMs = run.hardships.rates ? 6000 : 2500;
      await scheduler.sleep(isHasty ? random.between(50, 500) : random.between(100, longestMs), null);
      if (run.isCalm) break;
      if (isHasty && run.known.resetsMs.length > 0 && this.#walletsAfterReset < WALLETS_AFTER_RESET)
        await this.#createWallet(this.#walletsAfterReset++);
      else if (run.hardships.histories && random.chance(0.2)) await this.#changeMuch();
      else if (run.hardships.rates && random.chance(0.3)) await this.#actOnRates();
      else if (run.hardships.checkouts && random.chance(0.6)) await this.#actOnCheckout();
      else if (run.hardships.waysBack && random.chance(0.5))
        await giveBack({ run, payments: await this.#docs('payments'), act: this.#act.bind(this) });
      else if (run.hardships.decisions && random.chance(0.4))
        await decideAfterRefund({ run, docs: this.#docs.bind(this), act: this.#act.bind(this) });
      else if ((run.hardships.refunds || run.hardships.audits) && random.chance(0.35)) await this.#refund();
      else if (run.hardships.audits && random.chance(0.25)) await this.#audit();
      else await this.#actAtRandom();
    }
  }

  async #setUp(): Promise<void> {
    const { random, scenario } = this.run;
    if (this.run.hardships.rates) for (const id of ACCOUNTS) await this.#openAccount(id);
    for (let index = 0; index < scenario.wallets; index++) await this.#createWallet(index);
    if (this.run.hardships.orders)
      for (const id of ACCOUNTS)
        await this.#act('makes a coupon', ({ coupons }) =>
          coupons.create(callerOf(id), { ...COUPON, active: true } as never),
        );
    for (let n = 0; n < random.between(1, 2); n++) await this.#createProduct();
    for (let n = 0; n < random.between(1, 3); n++) await this.#createLink();
    const { crowd } = this.run.hardships;
    for (let n = 0; n < (crowd?.webhooks ?? random.between(0, 2)); n++) await this.#createWebhook();
  }

  /** Rates need it, because the account holds the markup. */
  async #openAccount(_id: string): Promise<void> {
    while (!(await this.#docs('accounts')).some((account) => account._id === _id))
      await this.#act('opens an account', ({ accounts }) =>
        accounts.insert({ _id, name: _id, createdAt: new Date(this.run.scheduler.nowMs()) }),
      );
  }

  async #actAtRandom(): Promise<unknown> {
    const { random, known } = this.run;
    const wallet = random.pick([...known.wallets.keys()]);
    const product = random.pick([...known.products.keys()]);
    const link = random.pick([...known.links.keys()]);
    const webhook = random.pick([...known.webhooks].filter(([, { deletedMs }]) => deletedMs === null))?.[0];
    switch (random.int(13)) {
      case 0:
      case 1:
      case 2:
        return wallet && this.#toggleWallet(wallet);
      case 3:
        return this.#createWallet(random.int(ADDRESSES.length));
      case 4:
      case 5:
        return product ? this.#changeProduct(product) : this.#createProduct();
      case 6:
        return link ? this.#toggleLink(link) : this.#createLink();
      case 7:
        return this.#acceptPayment();
      case 8:
        return this.#assignPayment();
      case 9:
        return webhook && this.#changeWebhook(webhook);
      case 10:
        return webhook && this.#rotateSecret(webhook);
      case 11:
        return this.#dismissPayment();
      default:
        return this.#redeliver();
    }
  }

  /** Calls the API and learns the result, even when the call was not answered.
   *  @param what the act, and after a colon what it is done to or with; an act that the service
   *  should refuse begins with `tries to` */
  async #act(what: string, call: (api: Api) => Promise<unknown>): Promise<void> {
    const { scheduler, known, database } = this.run;
    const api = await this.supervisor.openApi();
    const fromMs = scheduler.nowMs();
    const { refundsChanged } = known;
    known.actingSinceMs = fromMs;
    scheduler.log(`merchant: ${what}`);
    const act = `merchant ${what.split(':')[0]}`;
    known.reached.set(act, known.reached.get(act) ?? 0);
    try {
      await Promise.race([call(api), api.process.death]);
      known.reached.set(act, known.reached.get(act)! + 1);
    } catch (error) {
      scheduler.log(`merchant: ${what} failed: ${(error as Error).message}`);
      if (!EXPECTED.some((kind) => error instanceof kind)) throw error;
      if (error instanceof ApiError && error.code !== 'unavailable' && known.refundsChanged > refundsChanged)
        known.faults.push(`the merchant ${what}, which was refused (${error.message}) and changed refunds`);
    }
    await scheduler.hold(learn(known, database.docs, fromMs, scheduler.nowMs()));
    known.actingSinceMs = null;
    known.lastAct = { sinceMs: fromMs, endedMs: scheduler.nowMs() };
  }

  /** Sometimes calls twice; one of the two calls may be refused. */
  async #impatiently(call: () => Promise<unknown>): Promise<void> {
    const first = call();
    const clicks = await Promise.allSettled(this.run.random.chance(0.4) ? [first, call()] : [first]);
    const failed = clicks.filter((click) => click.status === 'rejected');
    if (failed.length === clicks.length) throw failed[0]!.reason;
  }

  #docs(collection: string): Promise<Doc[]> {
    return this.run.scheduler.hold(this.run.database.docs(collection));
  }

  #accountAtRandom(): string {
    return ACCOUNTS[this.run.random.chance(0.8) ? 0 : 1];
  }

  #createWallet(index: number): Promise<void> {
    const caller = callerOf(this.#accountAtRandom());
    const address = ADDRESSES[index % ADDRESSES.length]!;
    return this.#act(`makes a wallet: ${index}`, ({ wallets }) =>
      wallets.create(caller, { name: 'w', address, network: 'LOCAL' }),
    );
  }

  async #createProduct(): Promise<void> {
    const { random, known } = this.run;
    const wallet = random.pick([...known.wallets]);
    if (!wallet) return;
    const [walletId, { accountId }] = wallet;
    const fixed = random.chance(0.7);
    const currency = this.run.hardships.rates && random.chance(0.8) ? CURRENCY : null;
    const usdc = !currency && random.chance(0.3);
    const fields = {
      name: 'p',
      walletId,
      assetCode: usdc ? 'USDC' : 'XLM',
      assetIssuer: usdc ? ISSUER : null,
      priceType: fixed ? 'FIXED' : 'CUSTOM',
      price: fixed ? '10' : null,
      minAmount: fixed ? null : random.pick([null, '10']),
      ...(currency && { currency }),
      ...(this.run.hardships.orders && {
        tolerancePercent: random.pick(TOLERANCES),
        stock: random.pick([null, null, STOCK]),
      }),
      active: true,
    };
    await this.#act('makes a product', ({ products }) => products.create(callerOf(accountId), fields as never));
  }

  async #createLink(): Promise<void> {
    const product = this.run.random.pick([...this.run.known.products]);
    if (!product) return;
    const [productId, { accountId }] = product;
    const ordered = this.run.hardships.orders && this.run.random.chance(0.6);
    const fields = ordered ? { order: ORDER_FORM, maxPayments: MOST_ORDERS } : {};
    await this.#act('makes a link', ({ paymentLinks }) =>
      paymentLinks.create(callerOf(accountId), { productId, ...fields }),
    );
  }

  /** Sets rates, markups and prices, one right after the other. */
  async #changeMuch(): Promise<void> {
    const { random, scheduler, known } = this.run;
    for (let left = random.between(6, 14); left > 0 && !this.run.isCalm; left--) {
      const product = random.pick([...known.products.keys()]);
      if (product && random.chance(0.3)) await this.#changeProduct(product);
      else await this.#actOnRates();
      await scheduler.sleep(random.between(0, 300), null);
    }
  }

  /** Sets an own rate, ends it, or changes the markup. */
  async #actOnRates(): Promise<void> {
    const { random } = this.run;
    const caller = callerOf(this.#accountAtRandom());
    const pair = { currency: CURRENCY, assetCode: 'XLM', network: 'LOCAL' as const };
    const draw = random.next();
    if (draw < 0.35)
      return this.#act('sets a rate', ({ rates }) => rates.set(caller, { ...pair, rate: random.pick(OWN_RATES) }));
    if (draw < 0.7) return this.#act('ends its rate', ({ rates }) => rates.delete(caller, pair));
    return this.#act('changes its markup', ({ account }) =>
      account.update(caller, { rateMarkupPercent: random.pick(MARKUPS) }),
    );
  }

  #createWebhook(): Promise<void> {
    const { random, receiver } = this.run;
    const n = this.#webhooks++;
    const accountId = this.run.hardships.crowd ? ACCOUNTS[0] : this.#accountAtRandom();
    const url = `https://shop${n}.test/hook`;
    receiver.endpoints.set(url, {
      failing: random.chance(0.5) ? random.next() * 0.5 : 0,
      hanging: random.chance(0.2) ? 0.2 : 0,
      gone: random.chance(0.15) ? 0.2 : 0,
    });
    return this.#act(`makes a webhook: ${n}`, ({ webhooks }) => {
      const orders = this.run.hardships.checkouts ? ['checkout.paid', 'checkout.expired'] : [];
      const back = this.run.hardships.refunds || this.run.hardships.waysBack ? ['payment.refunded'] : [];
      const both = ['payment.received', 'payment.completed', ...orders, ...back];
      const events = random.pick([both, ['payment.completed'], both]);
      return webhooks.create(callerOf(accountId), { name: 'h', url, events } as never);
    });
  }

  /** The number of successive changes: some merchants change their minds. */
  #times(): number {
    return this.run.random.chance(0.3) ? this.run.random.between(2, 3) : 1;
  }

  async #toggleWallet(id: string): Promise<void> {
    const { accountId, active } = this.run.known.wallets.get(id)!;
    for (let times = this.#times(); times > 0; times--) {
      const next = !active.at(-1)!.value;
      await this.#act(`makes a wallet ${next ? 'active' : 'inactive'}: ${id.slice(-6)}`, ({ wallets }) =>
        wallets.update(callerOf(accountId), { id, active: next }),
      );
    }
  }

  #changeProduct(id: string): Promise<void> {
    const { random, known } = this.run;
    const { accountId, terms } = known.products.get(id)!;
    const last = terms.at(-1)!.value;
    const isTolerance = this.run.hardships.orders && random.chance(0.3);
    const changes = isTolerance
      ? { tolerancePercent: random.pick(TOLERANCES) }
      : random.chance(0.4)
        ? { active: !last.active }
        : last.priceType === 'FIXED'
          ? { price: random.pick(['9', '10', '11']) }
          : { minAmount: random.pick([null, '9', '11']) };
    return this.#act(`changes a product: ${JSON.stringify(changes)}`, ({ products }) =>
      products.update(callerOf(accountId), { id, ...changes }),
    );
  }

  #toggleLink(id: string): Promise<void> {
    const { random, known, scheduler } = this.run;
    const { accountId, terms } = known.links.get(id)!;
    const state = terms.at(-1)!.value;
    const soon = new Date(scheduler.nowMs() + random.between(0, 8000)).toISOString();
    const changes =
      !this.run.hardships.orders || random.chance(0.5)
        ? { active: !state.active }
        : random.chance(0.5)
          ? { endsAt: state.endsMs === null ? soon : null }
          : { order: state.takesOrders ? null : ORDER_FORM };
    return this.#act(`changes a link: ${JSON.stringify(changes)}`, ({ paymentLinks }) =>
      paymentLinks.update(callerOf(accountId), { id, ...changes }),
    );
  }

  async #actOnCheckout(): Promise<unknown> {
    const { random, known } = this.run;
    const draw = random.next();
    if (this.run.hardships.orders && draw < 0.25) return this.#takeOrder();
    if (draw < 0.5 || known.checkouts.size === 0) return this.#createCheckout();
    if (draw > 0.85) return this.#assignPayment();
    const { _id: id, accountId } = random.pick([...known.checkouts.values()]);
    const call = draw < 0.65 ? 'cancel' : 'accept';
    const other = random.chance(0.3) ? 'cancel' : call;
    await this.#act(`${call}s a checkout`, async ({ checkouts }) => {
      const caller = callerOf(accountId);
      const calls = random.chance(0.4)
        ? [checkouts[call](caller, { id }), checkouts[other](caller, { id })]
        : [checkouts[call](caller, { id })];
      const ended = await Promise.allSettled(calls);
      const refused = ended.find((each) => each.status === 'rejected');
      if (refused) throw refused.reason;
    });
  }

  /** Uses an API whose clock is behind, so that the checkout seems older and ends within
   *  the run. */
  async #createCheckout(): Promise<void> {
    const { random, known, run } = { ...this.run, run: this.run };
    const wallet = random.pick([...known.wallets]);
    if (!wallet) return;
    const product = random.pick([...known.products]);
    const ofProduct = product && random.chance(0.6);
    const { accountId } = ofProduct ? product[1] : wallet[1];
    const usdc = random.chance(0.2);
    const inEuro = run.hardships.rates && !usdc && random.chance(0.7);
    const isFixed = ofProduct && product[1].terms.at(-1)!.value.priceType === 'FIXED';
    const basket = run.hardships.orders && isFixed && random.chance(0.4) ? await this.#basket(product[0]) : null;
    const fields = basket
      ? basket
      : ofProduct
        ? {
            productId: product[0],
            ...(isFixed
              ? { quantity: random.between(1, 2) }
              : { [product[1].terms.at(-1)!.value.currency ? 'price' : 'amount']: '12' }),
          }
        : {
            walletId: wallet[0],
            name: 'Order',
            assetCode: usdc ? 'USDC' : 'XLM',
            assetIssuer: usdc ? ISSUER : null,
            ...(inEuro
              ? { currency: CURRENCY, price: random.pick(['9', '18.99', '10']) }
              : { amount: random.pick(['9', '18.9999999', '10']) }),
          };
    const ordered = run.hardships.orders
      ? {
          ...(random.chance(0.7) && { tolerancePercent: random.pick(TOLERANCES) }),
          ...(random.chance(0.4) && { couponCode: COUPON.code }),
        }
      : {};
    // To a clock that is behind, rates would be in the future, so with rates the clock is right.
    const ageMs = run.hardships.rates ? 0 : random.between(20_000, CHECKOUT_LIFE_MS - 3000);
    await this.#act('takes an order', async ({ process, checkouts }) => {
      const { clockOffsetMs } = process;
      process.clockOffsetMs -= ageMs;
      const expiresAt = new Date(run.scheduler.nowMs() + process.clockOffsetMs + CHECKOUT_LIFE_MS).toISOString();
      try {
        const order = () => checkouts.create(callerOf(accountId), { ...fields, ...ordered, expiresAt } as never);
        await (run.hardships.orders ? this.#impatiently(order) : order());
      } finally {
        process.clockOffsetMs = clockOffsetMs;
      }
    });
  }

  /** A line of each product that goes with this one. */
  async #basket(productId: string) {
    const all = await this.#docs('products');
    const { walletId, assetCode, assetIssuer, currency } = all.find(({ _id }) => _id === productId)!;
    const lines = all
      .filter((each) => each.priceType === 'FIXED' && each.walletId === walletId)
      .filter((each) => each.assetCode === assetCode && each.currency === currency)
      .map(({ _id }) => ({ productId: _id, quantity: this.run.random.between(1, 2) }));
    return { walletId, assetCode, assetIssuer, ...(currency && { currency }), lines };
  }

  /** A payer sends the form of an order link, through an API whose clock is behind, as with
   *  other orders. */
  async #takeOrder(): Promise<void> {
    const { random, known, run } = { ...this.run, run: this.run };
    const link = random.pick([...known.links].filter(([, { terms }]) => terms.at(-1)!.value.takesOrders));
    if (!link) return this.#createCheckout();
    const stored = (await this.#docs('paymentLinks')).find(({ _id }) => _id === link[0])!;
    const product = known.products.get(stored.productId)!.terms.at(-1)!.value;
    const sent = {
      ...{ answers: {}, quantity: null, tipPercent: null },
      amount: product.priceType === 'CUSTOM' ? '12' : null,
      couponCode: random.chance(0.4) ? COUPON.code : null,
    };
    const behindMs = run.hardships.rates ? 0 : ORDER_FORM.minutes * 60_000 - random.between(3000, 40_000);
    await this.#act('takes an order by a link', async ({ process, takeOrder }) => {
      const { clockOffsetMs } = process;
      process.clockOffsetMs -= behindMs;
      const payer = { address: '203.0.113.9', language: 'en' as const };
      try {
        // Several at once: no more are made than the link takes.
        const orders = [1, 2, 3].slice(0, random.between(1, 3)).map(() => takeOrder(stored.slug, sent, payer));
        const ended = await Promise.allSettled(orders);
        const refused = ended.find((each) => each.status === 'rejected');
        if (refused && ended.length === 1) throw refused.reason;
      } finally {
        process.clockOffsetMs = clockOffsetMs;
      }
    });
  }

  async #acceptPayment(): Promise<void> {
    const { random, known } = this.run;
    const stored = await this.#docs('payments');
    const payment = random.pick(
      stored.filter(({ status, checkoutId }) => !checkoutId && (status === 'UNDERPAID' || status === 'REJECTED')),
    );
    if (!payment) return;
    known.accepted.add(payment._id);
    await this.#act('accepts a payment', ({ payments }) =>
      this.#impatiently(() => payments.accept(callerOf(payment.accountId), { id: payment._id })),
    );
  }

  async #dismissPayment(): Promise<void> {
    const { random, known } = this.run;
    const payment = random.pick((await this.#docs('payments')).filter(({ status }) => status !== 'COMPLETED'));
    if (!payment) return;
    known.dismissed.add(`${payment._id} ${payment.status}`);
    await this.#act('dismisses a payment', ({ payments }) =>
      this.#impatiently(() => payments.dismiss(callerOf(payment.accountId), { id: payment._id, note: 'fine' })),
    );
  }

  async #assignPayment(): Promise<void> {
    const { random, known } = this.run;
    const payment = random.pick((await this.#docs('payments')).filter(({ status }) => status === 'UNMATCHED'));
    const links = [...known.links].filter(([, { accountId }]) => accountId === payment?.accountId);
    if (!payment || links.length + known.checkouts.size === 0) return;
    await this.#act('assigns a payment', ({ payments }) =>
      this.#impatiently(() => {
        const own = [...known.checkouts.values()].filter(({ accountId }) => accountId === payment.accountId);
        if (own.length > 0 && random.chance(0.7)) {
          return payments.assign(callerOf(payment.accountId), { id: payment._id, checkoutId: random.pick(own)._id });
        }
        if (links.length === 0) return Promise.resolve();
        const paymentLinkId = random.pick(links)[0];
        return payments.assign(callerOf(payment.accountId), { id: payment._id, paymentLinkId });
      }),
    );
  }

  async #audit(): Promise<void> {
    const wallet = this.run.random.pick([...this.run.known.wallets]);
    if (!wallet) return;
    const [id, { accountId }] = wallet;
    await this.#act(`audits a wallet: ${id.slice(-6)}`, ({ wallets }) =>
      wallets.startAudit(callerOf(accountId), { id }),
    );
  }

  /** Sends money back, or names a transaction that did: to the payer or another account, with a
   *  smaller or larger amount, with the right memo or not. */
  async #refund(): Promise<void> {
    const { random, known, chain, scheduler } = this.run;
    const payment = random.pick(await this.#docs('payments'));
    if (!payment) return;
    const { accountId, paymentLinkId, checkoutId, assetCode: code, assetIssuer: issuer } = payment;
    const sent = random.pick(chain.sent);
    if (sent && random.chance(0.25)) {
      const { transactionHash } = sent;
      await this.#act('names a refund', ({ payments }) =>
        this.#impatiently(() => payments.addRefund(callerOf(accountId), { id: payment._id, transactionHash })),
      );
      return;
    }
    // An unmatched payment may have been meant for a link or checkout, and be assigned to it later.
    const isMatched = paymentLinkId !== null || checkoutId !== null;
    const own = <Each extends Doc>(docs: ReadonlyMap<string, Each>) =>
      [...docs].filter(([, each]) => each.accountId === accountId);
    const meant = isMatched ? null : random.pick([...own(known.links), ...own(known.checkouts)]);
    const paidFor = known.links.get(paymentLinkId) ?? known.checkouts.get(checkoutId) ?? meant?.[1];
    const memo = paidFor?.memo ?? 'NOBODY';
    const spelled = random.pick([
      `refund ${memo}`,
      `refund ${memo}`,
      `Refund ${memo.toLowerCase()} `,
      'refund NOBODY',
      null,
    ]);
    const from = random.chance(0.8)
      ? known.wallets.get(payment.walletId)!.address
      : random.pick(own(known.wallets))[1].address;
    const receiver = random.chance(0.85)
      ? payment.senderAddress
      : random.pick([STRANGER, ...ADDRESSES.filter((each) => !chain.keepsBooks || chain.accounts.isOpen(each))]);
    const whole = stroops(payment.amount)!;
    const amount = random.pick([whole, whole, whole / 2n || 1n, 1n, whole + 1n]);
    if (receiver === from) return;
    scheduler.log(`merchant: sends ${amount} stroops of ${payment._id.slice(-6)} back with memo ${spelled}`);
    chain.send({
      receiver,
      from,
      asset: { code, issuer },
      stroops: amount,
      memo: spelled === null ? { type: 'none', text: null } : { type: 'text', text: spelled.slice(0, MEMO_BYTES) },
      shape: receiver.startsWith('C') ? 'toContract' : 'payment',
    });
    if (!meant || random.chance(0.3)) return;
    await scheduler.sleep(random.between(0, 20_000), null);
    const [id] = meant;
    await this.#act('assigns what it sent back', ({ payments }) =>
      this.#impatiently(() =>
        payments.assign(callerOf(accountId), {
          id: payment._id,
          ...(known.links.has(id) ? { paymentLinkId: id } : { checkoutId: id }),
        }),
      ),
    );
  }

  async #changeWebhook(id: string): Promise<void> {
    const { random, known } = this.run;
    const caller = callerOf(known.webhooks.get(id)!.accountId);
    if (random.chance(0.3)) {
      await this.#act('deletes a webhook', ({ webhooks }) => webhooks.delete(caller, { id }));
      return;
    }
    for (let times = this.#times(); times > 0; times--) {
      const stored = (await this.#docs('webhooks')).find(({ _id }) => _id === id);
      await this.#act('pauses or resumes a webhook', ({ webhooks }) =>
        webhooks.update(caller, { id, status: stored?.status === 'ACTIVE' ? 'PAUSED' : 'ACTIVE' }),
      );
    }
  }

  #rotateSecret(id: string): Promise<void> {
    const { accountId } = this.run.known.webhooks.get(id)!;
    return this.#act('rotates a secret', ({ webhooks }) => webhooks.rotateSecret(callerOf(accountId), { id }));
  }

  async #redeliver(): Promise<void> {
    const { random, known, scheduler } = this.run;
    const stored = await this.#docs('deliveries');
    const delivery = random.pick(stored.filter(({ status }) => status !== 'CANCELLED'));
    if (!delivery || random.chance(0.5)) {
      if (this.#webhooks < MAX_WEBHOOKS) await this.#createWebhook();
      return;
    }
    const note = () => known.redelivered.push({ deliveryId: delivery._id, atMs: scheduler.nowMs() });
    note();
    await this.#act('redelivers', ({ deliveries }) =>
      deliveries.redeliver(callerOf(delivery.accountId), { id: delivery._id }),
    );
    note();
  }
}
