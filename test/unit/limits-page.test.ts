/** The table of limits says what the code does. */
import { readFileSync } from 'node:fs';
import t from 'tap';
import { SETTINGS } from '../../src/app/settings.js';

const text = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
const rows = [...text('docs/reference/limits.md').matchAll(/^\| (.+) \| (.+) \| `(.+)` \| (?:`([A-Z_]+)` )?\|$/gm)].map(
  ([, what, whom, fallback, setting]) => ({ what: what!, whom: whom!, fallback: fallback!, setting }),
);

/** What the rows without a setting are of: a file, and what stands in it before the figure. */
const IN_CODE: [row: string, file: string, before: string][] = [
  ['Attempts to sign in', 'src/api/app.ts', 'SIGN_IN_ATTEMPTS = '],
  ['Wrong codes of the setup', 'src/api/app.ts', 'SETUP_ATTEMPTS = '],
  ['The same, of all addresses', 'src/accounts/setup.ts', 'MOST_WRONG = '],
  ['Sessions of the dashboard', 'src/accounts/sessions.ts', 'MAX_SESSIONS = '],
  ['Hours that an invitation lasts', 'src/accounts/users.ts', 'INVITATION_MS = '],
  ['Passkeys', 'src/accounts/passkeys.ts', 'MOST_PASSKEYS = '],
  ['Minutes to answer with a passkey', 'src/accounts/passkeys.ts', 'CHALLENGE_MS = '],
  ['The same, event streams', 'src/events/event-tail.ts', 'MAX_OPEN = '],
  ['Streams of payment pages', 'src/page/router.ts', 'MAX_STREAMS_PER_ADDRESS = '],
  ['The same, page streams', 'src/page/router.ts', 'MAX_STREAMS = '],
  ['The same, exports', 'src/selling/exports.ts', 'MOST_IN_ALL = '],
  ['Milliseconds that an export lasts', 'src/api/rest.ts', 'MAX_MS = '],
  ['Reports that wait', 'src/selling/reports.ts', 'mostWaiting: '],
  ['Rows of a report', 'contracts/reports.ts', 'MAX_SUMMARY_ROWS = '],
  ['Seconds to add up', 'contracts/reports.ts', 'MAX_SUMMARY_SECONDS = '],
  ['Entries of a statement', 'src/audit/statement.ts', 'MOST_ITEMS = '],
  ['Origins that may frame', 'contracts/account.ts', 'MAX_EMBED_ORIGINS = '],
  ['E-mails of one kind', 'src/mail/bounded.ts', 'MOST_OF_HOUR = '],
  ['The same, in a day', 'src/mail/bounded.ts', 'MOST_OF_DAY = '],
  ['Addresses that notifications go to', 'contracts/notifications.ts', 'MAX_RECIPIENTS = '],
  ['Replays in preparation', '', ''],
  ['Signing secrets', 'src/webhooks/webhooks.ts', 'MAX_SECRETS = '],
  ['Times that it was made active', 'src/watching/wallets.ts', 'MAX_WINDOWS = '],
  ['Changes of `active`', 'src/selling/links.ts', 'MAX_SWITCHES = '],
  ['Open orders', 'src/selling/order-taking.ts', 'MOST_OPEN = '],
  ['Fields of an order form', 'contracts/payment-links.ts', 'MAX_FIELDS = '],
  ['Choices of a', 'contracts/payment-links.ts', 'MAX_OPTIONS = '],
  ['Suggested amounts', 'contracts/payment-links.ts', 'MAX_SUGGESTIONS = '],
  ['Characters of an answer', 'contracts/payment-links.ts', 'MAX_ANSWER = '],
  ['Characters of an amount', 'src/domain/typed-amount.ts', 'MAX_TYPED = '],
  ['Bytes of an order', 'src/page/router.ts', 'BODY_BYTES = '],
  ['`maxPayments`', 'contracts/payment-links.ts', 'MAX_PAYMENTS = '],
  ['Characters of `inactiveText`', 'contracts/payment-links.ts', 'inactiveText: text({ max: '],
  ['Payments that a refund is divided among', 'src/payments/refunds.ts', 'MOST_SHARES = '],
  ['Refunds read before their payment', 'src/payments/refund-store.ts', 'MOST_WAITING = '],
  ['Payments on a receipt', 'src/page/show.ts', 'MOST_PAYMENTS = '],
  ['Products that a search', 'src/selling/links.ts', 'MAX_PRODUCTS_SEARCHED = '],
  ['Of those', 'src/watching/poll-scheduler.ts', 'outsiders: '],
  ['Bytes of a file of a history archive', 'src/proving/archives.ts', 'MAX_FILE_BYTES = '],
  ['Milliseconds in which a history archive', 'src/proving/archives.ts', 'TIMEOUT_MS = '],
  ['Bytes of a proof', 'src/proof/format.ts', 'MAX_BYTES = '],
  ['Records of a file of a history archive', 'src/proof/make.ts', 'MAX_RECORDS = '],
  ['Elements of all lists', 'src/proof/xdr.ts', 'MAX_ELEMENTS = '],
  ['Bytes of the transactions of a ledger', 'src/ledger/source.ts', 'MOST_BYTES = '],
  ['Bytes of a body', 'src/api/rest-body.ts', 'MAX_BODY_BYTES = '],
  ['Calls of a batch', 'src/api/trpc-http.ts', 'MAX_BATCH_SIZE = '],
  ['Faults that are listed', 'src/api/input.ts', 'MOST_FAULTS = '],
  ['Items of a page', 'contracts/primitives.ts', '.max('],
  ['Characters of the events', 'src/events/events.ts', 'PAGE_BYTES = '],
  ['Characters of an envelope', 'contracts/page-payments.ts', 'MAX_ENVELOPE_CHARACTERS = '],
  ['Assets of a payer', 'src/ledger/source.ts', 'MOST_WAYS = '],
  ['Entries of metadata', 'contracts/checkouts.ts', 'MAX_METADATA_ENTRIES = '],
  ['Quantity', 'contracts/orders.ts', 'MAX_QUANTITY = '],
  ['Lines of a checkout', 'contracts/orders.ts', 'MAX_LINES = '],
  ['Tips to choose from', 'contracts/orders.ts', 'MAX_TIPS = '],
  ['Pieces in stock', 'contracts/products.ts', 'MAX_STOCK = '],
  ['Changes of a stock', 'src/selling/product-store.ts', 'CHANGES_REMEMBERED = '],
  ['Products that a coupon', 'contracts/coupons.ts', 'MAX_PRODUCTS = '],
  ['Redemptions, where', 'contracts/coupons.ts', 'MAX_REDEMPTIONS = '],
  ['Characters of a name', 'contracts/primitives.ts', 'nameInput = text({ min: 1, max: '],
  ['Characters of a description', 'contracts/products.ts', 'description: text({ max: '],
  ['Characters of a URL', 'contracts/primitives.ts', 'text({ max: '],
  ['Characters of a search', 'contracts/primitives.ts', 'searchQuery = text({ max: '],
  ['Words of a search', 'contracts/primitives.ts', 'MOST_WORDS = '],
  ['Milliseconds that a list', 'src/kit/paging.ts', 'LIST_MS = '],
  ['Lists and searches at a time', 'src/kit/paging.ts', 'mostOfAccount: '],
  ['Words that it is found by', 'src/kit/text-search.ts', 'MOST_WORDS = '],
  ['Changed fields that activity', 'src/accounts/commit.ts', 'MAX_CHANGES = '],
  ['Characters of a value there', 'src/accounts/commit.ts', 'MAX_CHARACTERS = '],
  ['Entries of a list there', 'src/accounts/commit.ts', 'MAX_ENTRIES = '],
  ['Days until a checkout ends', 'contracts/checkouts.ts', 'MAX_LIFETIME_MS = '],
  ['Pairs of a currency and an asset', 'src/domain/rate.ts', 'MAX_PAIRS_PER_ACCOUNT = '],
  ['Changes of an own rate', 'src/rates/own.ts', 'MAX_OWN_CHANGES_PER_HOUR = '],
  ['Changes of the markup', 'src/accounts/account-store.ts', 'CHANGES_KEPT = '],
];

t.test('every setting that is a limit has its row, with its default', async (t) => {
  const limits = Object.keys(SETTINGS).filter((name) => /^MAX_|_PER_(MINUTE|HOUR|ACCOUNT)$|^RECEIPT_DAYS$/.test(name));
  const listed = rows.flatMap(({ setting }) => setting ?? []);
  t.same(listed.toSorted(), limits.toSorted());
  for (const { setting, fallback } of rows)
    if (setting) t.match(SETTINGS[setting]!.default, new RegExp(`^${fallback}\\b`), setting);
});

t.test('every row without a setting is of the figure in the code, and has one', async (t) => {
  const fixed = rows.filter(({ setting }) => setting === undefined);
  t.equal(fixed.length, IN_CODE.length);
  for (const [index, [name, file, before]] of IN_CODE.entries()) {
    const { what, fallback } = fixed[index]!;
    t.ok(what.startsWith(name.split(',')[0]!), `${name}: ${what}`);
    if (file === '') continue;
    const source = text(file)
      .replace(/(\d)_(?=\d)/g, '$1')
      .replaceAll('1 / 8', '1/8');
    t.ok(new RegExp(`${before.replace(/[.({]/g, '\\$&')}${fallback}\\b`).test(source), `${name}: ${fallback}`);
  }
});
