/** One checkout: its payment progress, its page, and the possible decisions. */
import { Link } from 'wouter-preact';
import { type Item, useRead, useWrite } from '../api.js';
import { stroopsOf } from '../format.js';
import { Ask, useCanWrite } from '../parts/act.js';
import { Badge, Code, Copy, Facts, Money, Outside, Time } from '../parts/bits.js';
import { List } from '../parts/list.js';
import { Loaded, Page, Section } from '../parts/page.js';
import { QrBlock } from '../parts/qr-block.js';
import { t } from '../texts/texts.js';
import { CHECKOUT_STATUS, languageWord } from '../words.js';
import { partOf } from './checkouts.js';
import { PAYMENT_COLUMNS } from './payments.js';

type Checkout = Item<'checkouts.list'>;

const BACK = { href: '/checkouts', label: t('checkouts') };
const STATUSES = ['COMPLETED', 'UNDERPAID', 'REJECTED', 'UNMATCHED'] as const;

export function Checkout({ id }: { id: string }) {
  const checkout = useRead('checkouts.get', { id }, { keepPrevious: false });
  return (
    <Loaded query={checkout} title={t('checkout')} back={BACK}>
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
      actions={<Copy text={url} what={t('theUrl')} label={t('copyUrl')} />}
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
          <QrBlock text={url} label={t('pageQr')} file={reference ?? checkout.slug}>
            <span class="hint">{t('showCustomerOpensPayment')}</span>
          </QrBlock>
        )}
      </div>
      <Order checkout={checkout} />
      <Answers checkout={checkout} />
      <Section title={t('payments')}>
        <List
          title={t('paymentsCheckout')}
          query={payments}
          columns={PAYMENT_COLUMNS}
          href={(payment) => `/payments/${payment.id}`}
          empty={t('noPaymentsYet')}
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
        [t('price'), checkout.price && inCurrency(checkout.price)],
        [t('amount'), checkout.amount && money(checkout.amount)],
        [t('received'), money(checkout.receivedAmount)],
        [t('itsValue'), checkout.receivedValue && inCurrency(checkout.receivedValue)],
        [t('stillDue'), status !== 'PAID' && checkout.remainingAmount && money(checkout.remainingAmount)],
        [t('valueDue'), status !== 'PAID' && checkout.remainingValue && inCurrency(checkout.remainingValue)],
        [t('tooMuch'), checkout.excessAmount && money(checkout.excessAmount)],
        [t('for'), checkout.quantity ? `${checkout.quantity} × ${name}` : name],
        [t('tolerance'), checkout.tolerancePercent !== '0' && `${checkout.tolerancePercent} %`],
        [
          t('product'),
          checkout.product && <Link href={`/products/${checkout.product.id}`}>{checkout.product.name}</Link>,
        ],
        [
          t('fromLink'),
          checkout.paymentLinkId && <Link href={`/links/${checkout.paymentLinkId}`}>{checkout.paymentLinkId}</Link>,
        ],
        [t('customer'), [checkout.customer.name, checkout.customerEmail].filter(Boolean).join(', ') || null],
        [t('receiptIn'), checkout.customerEmail && languageWord(checkout.language ?? 'en')],
        [t('ends'), <Time key="ends" at={checkout.expiresAt} exact />],
        [t('paid'), checkout.paidAt && <Time at={checkout.paidAt} exact />],
        [t('closed'), checkout.closedAt && <Time at={checkout.closedAt} exact />],
        [
          'URL',
          <Outside key="url" href={url}>
            {url}
          </Outside>,
        ],
        [t('memo'), <Code key="memo" text={checkout.memo} what={t('theMemo')} whole />],
        [
          t('wallet'),
          <Link key="wallet" href={`/wallets/${checkout.wallet.id}`}>
            {checkout.wallet.name}
          </Link>,
        ],
        ...Object.entries(checkout.metadata).map(([key, value]) => [key, value] as const),
        [t('checkoutId'), <Code key="id" text={id} what={t('theCheckoutsId')} whole />],
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
  const discount = discountName === null ? t('discount') : t('discountDiscountName', { discountName });
  return (
    <Section title={t('order')}>
      <Facts
        facts={[
          ...lines.map(
            ({ name, quantity, taxPercent, total }) =>
              [
                `${quantity} × ${name}${taxPercent === null ? '' : t('taxPercentTax', { taxPercent })}`,
                money(total),
              ] as const,
          ),
          [t('subtotal'), money(subtotal)],
          [discount, isSome(discountAmount) && money(`-${discountAmount}`)],
          [taxIncluded ? t('taxContained') : t('tax'), isSome(taxAmount) && money(taxAmount)],
          [t('tip'), isSome(tipAmount) && money(tipAmount)],
          [t('total'), money(total)],
        ]}
      />
    </Section>
  );
}

/** What the payer filled in; customer and answers say the same. */
function Answers({ checkout: { answers } }: { checkout: Checkout }) {
  const given = Object.entries(answers);
  if (given.length === 0) return null;
  return (
    <Section title={t('answers')}>
      <Facts facts={given.map(([key, answer]) => [key, <bdi key={key}>{answer}</bdi>] as const)} />
    </Section>
  );
}

/** Accepting takes money in the checkout's asset that was not sent back, and is refused
 *  without any. */
const isLeftFor = ({ assetCode, assetIssuer, amount, refundedAmount }: Item<'payments.list'>, checkout: Checkout) =>
  assetCode === checkout.assetCode &&
  assetIssuer === checkout.assetIssuer &&
  stroopsOf(amount) > stroopsOf(refundedAmount);

function Accept({ id }: { id: string }) {
  const write = useWrite('checkouts.accept');
  return (
    <Ask
      label={t('acceptPaid')}
      title={t('acceptPaidAsk')}
      confirm={t('accept')}
      write={write}
      input={{ id }}
      done={t('checkoutPaid')}
    >
      <p>{t('checkoutBecomesPaidMoney')}</p>
    </Ask>
  );
}

function Cancel({ id }: { id: string }) {
  const write = useWrite('checkouts.cancel');
  return (
    <Ask
      label={t('cancelCheckout')}
      title={t('cancelCheckoutAsk')}
      confirm={t('cancelIt')}
      isDestructive
      write={write}
      input={{ id }}
      done={t('checkoutCancelled')}
    >
      <p>{t('pageStopsTakingPayments')}</p>
    </Ask>
  );
}
