/** The books explain a balance to the stroop: every kind of movement is counted once, under its
 *  name, and what is left is the exact difference. */
import t from 'tap';
import { checkEnd, mustShow } from '../../src/audit/pages.js';
import { chooseServers, endOf, readBalances, startOf, unaskedOf } from '../../src/audit/plan.js';
import type { ListRead } from '../../src/audit/read.js';
import { movementsOf } from '../../src/audit/statement-rules.js';
import { NATIVE } from '../../src/domain/asset.js';
import {
  type BalanceEffect,
  type Books,
  closeBooks,
  foldFee,
  foldOperation,
  forgetSettled,
  isBalanced,
  MOST_BOOKED,
  type OperationFacts,
} from '../../src/domain/books.js';

const ME = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
const THEY = 'GDSH3DACNUIXAE2E6WBWUFMO3Y4COGCXJVWNKWU5GL5UJVSBFDYOGUY4';
const EUR = { code: 'EUR', issuer: THEY };
const MINE = { code: 'MINE', issuer: ME };
const xlm = (stroops: bigint) => ({ asset: NATIVE, stroops });
const eur = (stroops: bigint) => ({ asset: EUR, stroops });
const credited = (what: { asset: typeof EUR | typeof NATIVE; stroops: bigint }): BalanceEffect => ({
  kind: 'credited',
  ...what,
});
const debited = (what: { asset: typeof EUR | typeof NATIVE; stroops: bigint }): BalanceEffect => ({
  kind: 'debited',
  ...what,
});
const by = (type: string, source = ME, contractChanges: OperationFacts['contractChanges'] = []): OperationFacts => ({
  type,
  source,
  contractChanges,
});

type Row = [
  title: string,
  effects: BalanceEffect[],
  operation: OperationFacts | null,
  expected: Record<string, Record<string, bigint>>,
];

// biome-ignore format: one case a line
const rows: Row[] = [
  ['a payment that came', [credited(xlm(5n))], by('payment', THEY), { XLM: { received: 5n } }],
  ['a payment that went', [debited(eur(5n))], by('payment'), { EUR: { sent: 5n } }],
  ['a creation', [credited(xlm(5n))], by('create_account', THEY), { XLM: { received: 5n } }],
  ['a merge that went', [debited(xlm(5n))], by('account_merge'), { XLM: { sent: 5n } }],
  ['a payment to oneself moves nothing', [credited(xlm(5n)), debited(xlm(5n))], by('payment'), { XLM: {} }],
  ['where the operation cannot be had, the direction counts', [credited(xlm(5n)), debited(eur(3n))], null, { XLM: { received: 5n }, EUR: { sent: 3n } }],
  ['a path payment that the account sends is sent, and its trades are not counted again',
    [debited(xlm(7n)), { kind: 'traded', sold: xlm(7n), bought: eur(3n) }], by('path_payment_strict_send'), { XLM: { sent: 7n } }],
  ['the same where the operation cannot be had', [debited(xlm(7n)), { kind: 'traded', sold: xlm(7n), bought: eur(3n) }], null, { XLM: { sent: 7n } }],
  ['a path payment to oneself', [debited(xlm(7n)), credited(eur(3n))], by('path_payment_strict_send'), { XLM: { sent: 7n }, EUR: { traded: 3n } }],
  ['a path payment of another account that takes an offer of the account',
    [{ kind: 'traded', sold: eur(3n), bought: xlm(7n) }], by('path_payment_strict_send', THEY), { XLM: { traded: 7n }, EUR: { traded: -3n } }],
  ['the same, when it pays the account besides',
    [credited(eur(2n)), { kind: 'traded', sold: eur(3n), bought: xlm(7n) }], by('path_payment_strict_receive', THEY),
    { XLM: { traded: 7n }, EUR: { received: 2n, traded: -3n } }],
  ['an offer of the account that is taken at once', [{ kind: 'traded', sold: xlm(7n), bought: eur(3n) }], by('manage_sell_offer'), { XLM: { traded: -7n }, EUR: { traded: 3n } }],
  ['a claimable balance that it made', [debited(xlm(5n))], by('create_claimable_balance'), { XLM: { other: -5n } }],
  ['one that it claimed', [credited(eur(5n))], by('claim_claimable_balance'), { EUR: { other: 5n } }],
  ['a clawback', [debited(eur(5n))], by('clawback', THEY), { EUR: { other: -5n } }],
  ['a pool', [{ kind: 'pooled', changes: [xlm(-5n), eur(-2n)] }], by('liquidity_pool_deposit'), { XLM: { other: -5n }, EUR: { other: -2n } }],
  ['what an account issues it does not hold', [debited({ asset: MINE, stroops: 5n })], by('payment'), {}],
  ['a contract that moves money both ways', [credited(xlm(6n)), debited(xlm(9n))], by('invoke_host_function', THEY), { XLM: { received: 6n, sent: 9n } }],
  ['a contract that moves money from the account to itself',
    [credited(xlm(6n)), debited(xlm(9n))],
    by('invoke_host_function', THEY, [{ kind: 'transfer', changeIndex: 0, from: ME, to: ME, amount: xlm(6n) }]), { XLM: { sent: 3n } }],
  ['a contract that claws back', [debited(eur(9n))], by('invoke_host_function', THEY, [{ kind: 'clawback', changeIndex: 0, from: ME, to: null, amount: eur(4n) }]), { EUR: { sent: 5n, other: -4n } }],
  ['changes that do not fit the effects', [debited(eur(3n))], by('invoke_host_function', THEY, [{ kind: 'clawback', changeIndex: 0, from: ME, to: null, amount: eur(40n) }]), { EUR: { other: -3n } }],
];

const NONE = { received: 0n, sent: 0n, fees: 0n, traded: 0n, other: 0n };

for (const [title, effects, operation, expected] of rows)
  t.test(title, (t) => {
    const books: Books = new Map();
    foldOperation(books, ME, effects, operation);
    const sums = Object.fromEntries([...books.values()].map(({ asset, sums }) => [asset.code, sums]));
    t.strictSame(
      sums,
      Object.fromEntries(Object.entries(expected).map(([code, some]) => [code, { ...NONE, ...some }])),
    );
    t.end();
  });

t.test('books are closed to the stroop, beyond 64 bits too', (t) => {
  const books: Books = new Map();
  foldFee(books, 100n);
  for (const _ of [1, 2, 3]) foldOperation(books, ME, [credited(eur(2n ** 63n - 1n))], by('payment', THEY));
  foldOperation(books, ME, [debited(eur(2n ** 64n))], by('payment'));
  const closing = [xlm(901n), eur(3n * (2n ** 63n - 1n) - 2n ** 64n)];
  const closed = closeBooks(books, [xlm(1000n)], closing);
  t.strictSame(
    closed.map(({ asset, difference, computed }) => [asset.code, computed, difference]),
    [
      ['XLM', 900n, 1n],
      ['EUR', closing[1]!.stroops, 0n],
    ],
  );
  t.notOk(isBalanced(closed));
  t.ok(isBalanced(closeBooks(books, null, closing)), 'an opening that is not known is worked out backwards');
  t.strictSame(
    closeBooks(new Map(), [], []),
    [{ asset: NATIVE, ...NONE, opening: 0n, closing: 0n, computed: 0n, difference: 0n }],
    'no account: zeros',
  );
  t.same(
    closeBooks(new Map(), [eur(5n)], [xlm(0n)]).map(({ difference }) => difference),
    [0n, -5n],
    'what is gone without a trace is missed',
  );
  t.end();
});

const tip = (oldestLedger: number, latestLedger: number) =>
  ({
    oldestLedger,
    latestLedger,
    latestClosedAt: new Date(0),
    passphrase: '',
    version: null,
    protocol: null,
    isBehind: false,
  }) as const;

t.test('balances and movements come from different servers where there are two', (t) => {
  const [a, b] = [
    { server: 'a', hasHistories: true, tip: tip(50, 100) },
    { server: 'b', hasHistories: true, tip: tip(1, 100) },
  ];
  const rpc = { server: 'rpc', hasHistories: false, tip: tip(50, 100) };
  t.match(chooseServers([a, b], 60), { movements: { server: 'a' }, balances: { server: 'b' } });
  t.match(
    chooseServers([a, b], 10),
    { movements: { server: 'b' }, balances: { server: 'a' } },
    'the one that keeps enough',
  );
  t.match(chooseServers([a], 60), { movements: { server: 'a' }, balances: { server: 'a' } }, 'the only one');
  t.match(chooseServers([rpc, a], 60), { movements: { server: 'a' }, balances: { server: 'rpc' } }, 'of another kind');
  t.match(chooseServers([rpc, a, b], 60), { movements: { server: 'a' }, balances: { server: 'b' } });
  t.match(chooseServers([{ ...rpc, tip: null }, a], 60), { balances: { server: 'a' } }, 'the one that answers');
  t.match(chooseServers([a, b], 60), { isOneAway: false });
  t.match(chooseServers([a, { ...b, tip: null }], 10), { movements: { server: 'a' }, isOneAway: true });
  t.match(chooseServers([a, { ...rpc, tip: null }], 10), { isOneAway: false }, 'it keeps no histories');
  t.equal(chooseServers([rpc], 60), 'none_configured');
  t.equal(chooseServers([{ ...a, tip: null }, rpc], 60), 'away');
  t.end();
});

t.test('an unlisted asset that moved is asked for before the audit concludes', async (t) => {
  const asset = { code: 'NEW', issuer: THEY };
  const sums = { received: 18n, sent: 0n, fees: 0n, traded: 0n, other: 0n };
  const books: Books = new Map([[`NEW:${THEY}`, { asset, sums }]]);
  const rowsOf = (opening: { asset: typeof asset; stroops: bigint }[] | null, held: bigint) =>
    closeBooks(books, opening, held ? [{ asset, stroops: held }] : []);
  t.same(unaskedOf(rowsOf(null, 0n), [], true), [asset], 'an opening of less than nothing');
  t.same(unaskedOf(rowsOf([], 0n), [], false), [asset], 'a difference');
  t.same(unaskedOf(rowsOf([{ asset, stroops: -18n }], 0n), [], false), [], 'what fits');
  t.same(unaskedOf(rowsOf(null, 18n), [`NEW:${THEY}`], true), [], 'it was asked for');
  t.same(unaskedOf(rowsOf(null, 0n), null, true), [], 'the server lists all');

  const tip = { oldestLedger: 1, latestLedger: 100 } as never;
  const servers = {
    movements: { server: 'horizon', hasHistories: true, tip },
    balances: { server: 'rpc', hasHistories: false },
    isOneAway: false,
  };
  // The list is of before the asset came.
  const holdings = async (_address: string, assets: readonly unknown[]) => ({
    balances: assets.map(() => ({ asset, stroops: 18n })),
    ...{ changedLedger: 90, latestLedger: 90 },
  });
  const read = (moved: (typeof asset)[]) =>
    readBalances(() => ({ holdings }) as never, ME, servers, { before: null, moved });
  t.match(await read([]), { held: { balances: [] }, asked: [], balanceSource: 'rpc' });
  t.match(await read([asset]), { held: { balances: [{ stroops: 18n }] }, asked: [`NEW:${THEY}`] });
});

t.test('an audit begins where the last one ended, and claims no ledger that no source keeps', (t) => {
  const kept = { oldestLedger: 50, latestLedger: 100 };
  for (const [previous, first, expected] of [
    [null, 70, { fromLedger: 70, openingSource: 'HISTORY' }],
    [null, 20, { fromLedger: 49, openingSource: 'HISTORY' }],
    [null, 170, { fromLedger: 100, openingSource: 'HISTORY' }],
    [60, 0, { fromLedger: 60, openingSource: 'PREVIOUS_AUDIT' }],
    [49, 0, { fromLedger: 49, openingSource: 'PREVIOUS_AUDIT' }],
    [48, 0, { fromLedger: 49, openingSource: 'COMPUTED_BACK' }],
    [101, 0, null],
  ] as const)
    t.strictSame(startOf(previous, first, kept), expected, `${previous}, ${first}`);
  t.end();
});

t.test('a balance counts only once what changed it last has been read', (t) => {
  for (const [fromLedger, changedLedger, knownLedger, readTo, expected] of [
    [10, 20, 30, 25, 25],
    [10, 20, 30, 40, 30],
    [10, 20, 20, 40, 20],
    [10, 20, 30, 19, null],
    [10, 5, 5, 40, 10],
    [10, 0, 0, 40, 10],
    [10, 20, 30, null, 30],
  ] as const)
    t.equal(endOf({ fromLedger, changedLedger, knownLedger }, readTo), expected);
  t.end();
});

t.test('a list ends where the server that answers has shown that it does', (t) => {
  const read = (cursor: string): ListRead => ({ cursor, end: 'unknown', shownLedger: 0 });
  for (const [cursor, newest, shownLedger, expected] of [
    ['4294967296-0', null, 20, 'whole'],
    ['4294967296-0', null, 19, 'behind'],
    ['4294967296-0', null, null, 'untold'],
    ['4294967297-2', '4294967297-2', 20, 'whole'],
    ['4294967297-2', '4294967297-10', 20, 'more'],
    ['4294967297-2', '4294967298-1', null, 'more'],
    ['4294967297-2', '4294967296-9', 20, 'whole'],
    ['9007199254740993', '9007199254740994', 20, 'more'],
    ['9007199254740993', '9007199254740993', 20, 'whole'],
  ] as const)
    t.equal(checkEnd(read(cursor), { newest, shownLedger, isUnknown: false }, 20), expected, `${cursor}, ${newest}`);
  for (const [fromLedger, changedLedger, readsAll, expected] of [
    [10, 20, false, 20],
    [10, 10, false, 0],
    [10, 5, false, 0],
    [10, 5, true, 5],
    [10, 0, false, 30],
  ] as const)
    t.equal(mustShow({ fromLedger, toLedger: 30, changedLedger, readsAll }), expected);
  const issuer = { fromLedger: 10, toLedger: 30, changedLedger: 10, readsAll: false, isIssuer: true };
  t.equal(mustShow(issuer), 30, 'what comes back to an issuer changes no balance');
  t.end();
});

t.test('books stay small whatever an account held for a while, and the difference stays exact', (t) => {
  const assetOf = (n: number) => ({ code: `A${n}`, issuer: THEY });
  const books: Books = new Map();
  for (let n = 0; n <= MOST_BOOKED; n++) {
    foldOperation(books, ME, [credited({ asset: assetOf(n) as never, stroops: 5n })], by('payment', THEY));
    if (n > 2) foldOperation(books, ME, [debited({ asset: assetOf(n) as never, stroops: 5n })], by('payment'));
  }
  t.equal(books.size, MOST_BOOKED + 1);
  t.ok(forgetSettled(books));
  t.strictSame([...books.keys()].length, 3);
  t.strictSame(
    closeBooks(books, [], [xlm(0n), { asset: assetOf(0), stroops: 4n }, { asset: assetOf(1), stroops: 5n }])
      .filter(({ difference }) => difference !== 0n)
      .map(({ asset, difference }) => [asset.code, difference]),
    [
      ['A0', -1n],
      ['A2', -5n],
    ],
  );
  for (let n = 0; n <= MOST_BOOKED; n++)
    foldOperation(books, ME, [credited({ asset: assetOf(n) as never, stroops: 5n })], by('payment', THEY));
  t.notOk(forgetSettled(books), 'more than an account can hold');
  t.end();
});

t.test('each credit of a contract call is a movement, with what paid it', async (t) => {
  const euros = (stroops: bigint) => ({ asset: EUR, stroops });
  const change = (changeIndex: number, from: string | null, to: string | null, stroops: bigint) =>
    ({ kind: 'transfer', changeIndex, from, to, amount: euros(stroops) }) as const;
  const call = by('invoke_host_function', THEY, [
    change(0, THEY, ME, 3n),
    change(1, 'CONTRACT', ME, 4n),
    change(2, ME, ME, 9n),
    change(3, ME, 'CONTRACT', 2n),
    change(4, THEY, 'CONTRACT', 8n),
  ]);
  const effects = [
    credited(euros(3n)),
    credited(euros(4n)),
    debited(euros(9n)),
    credited(euros(9n)),
    debited(euros(2n)),
  ];
  const told = (moved: ReturnType<typeof movementsOf>) =>
    moved.map(({ kind, stroops, changeIndex, counterparty }) => [kind, stroops, changeIndex, counterparty]);
  t.strictSame(told(movementsOf(ME, effects, call)), [
    ['received', 3n, 0, THEY],
    ['received', 4n, 1, 'CONTRACT'],
    ['sent', -2n, 3, 'CONTRACT'],
  ]);
  const odd = movementsOf(ME, effects.slice(1), call);
  t.strictSame(told(odd).slice(0, 1), [['received', 4n, null, null]], 'where they do not fit, the effects count');
});
