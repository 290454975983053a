/** One checkout: its payment progress, its page, and the possible decisions. */
import { Link } from 'wouter-preact';
import { type Item, useRead, useWrite } from '../api.js';
import { stroopsOf } from '../format.js';
import { Ask, useCanWrite } from '../parts/act.js';
import { Badge, Code, Copy, Facts, Money, Outside, Time } from '../parts/bits.js';
import { List } from '../parts/list.js';
import { Loaded, Page, Section } from '../parts/page.js';
import { QrBlock } from '../parts/qr-block.js';
import { CHECKOUT_STATUS, LANGUAGE } from '../words.js';
import { partOf } from './checkouts.js';
import { PAYMENT_COLUMNS } from './payments.js';

type Checkout = Item<'checkouts.list'>;

const BACK = { href: '/checkouts', label: 'Checkouts' };
const STATUSES = ['COMPLETED', 'UNDERPAID', 'REJECTED', 'UNMATCHED'] as const;

export function Checkout({ id }: { id: string }) {
  const checkout = useRead('checkouts.get', { id }, { keepPrevious: false });
  return (
    <Loaded query={checkout} title="Checkout" back={BACK}>
      {(data) => <Details checkout={data} />}
    </Loaded>
  );
}

function Details({ checkout }: { checkout: Checkout }) {
  const { id, url, name, reference, status } = checkout;
  const canWrite = useCanWrite();
  const payments = useRead('payments.list', { checkoutId: id, status: [...STATUSES], pageSize: 20 });
  const { items = [], meta } = payments.data ?? {};
  const hasMore = meta !== undefined && meta.total > items.length;
  const mayAccept =
    items.some((payment) => isLeftFor(payment, checkout)) || (hasMore && checkout.receivedAmount !== '0');
  return (
    <Page
      title={reference ?? name}
      about={id}
      back={BACK}
      badge={<Badge {...CHECKOUT_STATUS[status]} more={partOf(checkout)} />}
      actions={<Copy text={url} what="the URL" label="Copy the URL" />}
    >
      {canWrite && status !== 'PAID' && (
        <div class="actions">
          {mayAccept && <Accept id={id} />}
          {status === 'OPEN' && <Cancel id={id} />}
        </div>
      )}
      <div class="beside">
        <CheckoutFacts checkout={checkout} />
        {status === 'OPEN' && (
          <QrBlock text={url} label="Page QR" file={reference ?? checkout.slug}>
            <span class="hint">Show it to the customer: it opens the payment page.</span>
          </QrBlock>
        )}
      </div>
      <Order checkout={checkout} />
      <Section title="Payments">
        <List
          title="Payments of this checkout"
          query={payments}
          columns={PAYMENT_COLUMNS}
          href={(payment) => `/payments/${payment.id}`}
          empty="No payments yet."
          paged={false}
        />
      </Section>
    </Page>
  );
}

function CheckoutFacts({ checkout }: { checkout: Checkout }) {
  const { id, url, name, status } = checkout;
  const money = (amount: string) => <Money amount={amount} code={checkout.assetCode} />;
  const inCurrency = (value: string) => <Money amount={value} code={checkout.assetCode} currency={checkout.currency} />;
  return (
    <Facts
      facts={[
        ['Price', checkout.price && inCurrency(checkout.price)],
        ['Amount', checkout.amount && money(checkout.amount)],
        ['Received', money(checkout.receivedAmount)],
        ['Its value', checkout.receivedValue && inCurrency(checkout.receivedValue)],
        ['Still due', status !== 'PAID' && checkout.remainingAmount && money(checkout.remainingAmount)],
        ['Value due', status !== 'PAID' && checkout.remainingValue && inCurrency(checkout.remainingValue)],
        ['Too much', checkout.excessAmount && money(checkout.excessAmount)],
        ['For', checkout.quantity ? `${checkout.quantity} × ${name}` : name],
        ['Tolerance', checkout.tolerancePercent !== '0' && `${checkout.tolerancePercent} %`],
        ['Product', checkout.product && <Link href={`/products/${checkout.product.id}`}>{checkout.product.name}</Link>],
        ['Customer', checkout.customerEmail],
        ['Receipt in', checkout.customerEmail && LANGUAGE[checkout.language ?? 'en']],
        ['Ends', <Time key="ends" at={checkout.expiresAt} exact />],
        ['Paid', checkout.paidAt && <Time at={checkout.paidAt} exact />],
        ['Closed', checkout.closedAt && <Time at={checkout.closedAt} exact />],
        [
          'URL',
          <Outside key="url" href={url}>
            {url}
          </Outside>,
        ],
        ['Memo', <Code key="memo" text={checkout.memo} what="the memo" whole />],
        [
          'Wallet',
          <Link key="wallet" href={`/wallets/${checkout.wallet.id}`}>
            {checkout.wallet.name}
          </Link>,
        ],
        ...Object.entries(checkout.metadata).map(([key, value]) => [key, value] as const),
        ['Checkout id', <Code key="id" text={id} what="the checkout’s id" whole />],
      ]}
    />
  );
}

/** What it consists of; nothing for one line at one price. */
function Order({ checkout }: { checkout: Checkout }) {
  const { lines, taxIncluded, subtotal, discountAmount, discountName, taxAmount, tipAmount, total } = checkout;
  const money = (amount: string) => <Money amount={amount} code={checkout.assetCode} currency={checkout.currency} />;
  const isSome = (amount: string) => amount !== '0';
  if (lines.length === 1 && ![discountAmount, taxAmount, tipAmount].some(isSome)) return null;
  const discount = discountName === null ? 'Discount' : `Discount, ${discountName}`;
  return (
    <Section title="Order">
      <Facts
        facts={[
          ...lines.map(
            ({ name, quantity, taxPercent, total }) =>
              [`${quantity} × ${name}${taxPercent === null ? '' : `, ${taxPercent} % tax`}`, money(total)] as const,
          ),
          ['Subtotal', money(subtotal)],
          [discount, isSome(discountAmount) && money(`-${discountAmount}`)],
          [taxIncluded ? 'Tax contained' : 'Tax', isSome(taxAmount) && money(taxAmount)],
          ['Tip', isSome(tipAmount) && money(tipAmount)],
          ['Total', money(total)],
        ]}
      />
    </Section>
  );
}

/** Accepting takes money in the checkout's asset that was not sent back, and is refused without any. */
const isLeftFor = ({ assetCode, assetIssuer, amount, refundedAmount }: Item<'payments.list'>, checkout: Checkout) =>
  assetCode === checkout.assetCode &&
  assetIssuer === checkout.assetIssuer &&
  stroopsOf(amount) > stroopsOf(refundedAmount);

function Accept({ id }: { id: string }) {
  const write = useWrite('checkouts.accept');
  return (
    <Ask
      label="Accept as paid"
      title="Accept as paid?"
      confirm="Accept"
      write={write}
      input={{ id }}
      done="The checkout is paid."
    >
      <p>The checkout becomes paid with the money received in its asset. This cannot be undone.</p>
    </Ask>
  );
}

function Cancel({ id }: { id: string }) {
  const write = useWrite('checkouts.cancel');
  return (
    <Ask
      label="Cancel the checkout"
      title="Cancel this checkout?"
      confirm="Cancel it"
      isDestructive
      write={write}
      input={{ id }}
      done="The checkout is cancelled."
    >
      <p>
        Its page stops taking payments. Later payments are rejected, and you can send them back. This cannot be undone.
      </p>
    </Ask>
  );
}
