/** The overview: what came, what is open, and what needs somebody to look at it. */
import { Link } from 'wouter-preact';
import { type Item, useRead } from '../api.js';
import { plural } from '../format.js';
import { useCanWrite } from '../parts/act.js';
import { Badge, LinkButton } from '../parts/bits.js';
import { Icon } from '../parts/icon.js';
import { List } from '../parts/list.js';
import { Page, Section, Shown } from '../parts/page.js';
import { PAYMENT_STATUS, SYNC_STATE } from '../words.js';
import { CHECKOUT_COLUMNS } from './checkouts.js';
import { PAYMENT_COLUMNS } from './payments.js';
import { Received } from './received.js';

const TO_DECIDE = ['UNDERPAID', 'REJECTED', 'UNMATCHED'] as const;

export function Overview() {
  return (
    <Page title="Overview">
      <FirstSteps />
      <Received />
      <Decisions />
      <Troubles />
      <Latest />
      <OpenCheckouts />
    </Page>
  );
}

/** What an empty account does first. Gone once there is a link or a checkout. */
function FirstSteps() {
  const wallets = useRead('wallets.list', { pageSize: 1 });
  const products = useRead('products.list', { pageSize: 1 });
  const links = useRead('paymentLinks.list', { pageSize: 1 });
  const checkouts = useRead('checkouts.list', { pageSize: 1 });
  const canWrite = useCanWrite();
  if (!wallets.data || !products.data || !links.data || !checkouts.data) return null;
  const has = (list: { meta: { total: number } }) => list.meta.total > 0;
  if (has(links.data) || has(checkouts.data)) return null;
  const steps = [
    {
      isDone: has(wallets.data),
      href: '/wallets/new',
      label: 'Add your wallet',
      why: 'The Stellar account that payments go to. Its keys stay with you.',
    },
    {
      isDone: has(products.data),
      href: '/products/new',
      label: 'Create a product',
      why: 'What you sell, at a price or for what the customer chooses.',
    },
    {
      isDone: false,
      href: '/links/new',
      label: 'Make a payment link',
      why: 'A page with a QR code that anybody can pay on.',
    },
  ];
  const next = steps.findIndex(({ isDone }) => !isDone);
  return (
    <Section title="First steps">
      <ol class="steps">
        {steps.map(({ isDone, href, label, why }, index) => (
          <li key={href} class={isDone ? 'done' : ''}>
            <div>
              <strong>
                {label}
                {isDone && (
                  <span class="good">
                    {' '}
                    <Icon name="check" /> done
                  </span>
                )}
              </strong>
              <p>{why}</p>
            </div>
            {index === next && canWrite && <LinkButton href={href}>{label}</LinkButton>}
          </li>
        ))}
      </ol>
    </Section>
  );
}

function Decisions() {
  const of = (status: (typeof TO_DECIDE)[number]) => useRead('payments.list', { status: [status], pageSize: 1 });
  const counts = { UNDERPAID: of('UNDERPAID'), REJECTED: of('REJECTED'), UNMATCHED: of('UNMATCHED') };
  return (
    <Section title="Needs a decision">
      <ul class="tiles">
        {TO_DECIDE.map((status) => (
          <li key={status}>
            <Shown query={counts[status]}>
              {({ meta }) => (
                <Link href={`/payments?status=${status}`} className={meta.total > 0 ? 'tile' : 'tile none'}>
                  <span class="count">{meta.total.toLocaleString('en')}</span>
                  <Badge {...PAYMENT_STATUS[status]} />
                </Link>
              )}
            </Shown>
          </li>
        ))}
      </ul>
    </Section>
  );
}

/** Wallets that are not read, webhooks that do not deliver. Nothing at all when all is well. */
function Troubles() {
  const wallets = useRead('wallets.list', { pageSize: 100 });
  const webhooks = useRead('webhooks.list', { pageSize: 100 });
  const notOk = (wallets.data?.items ?? []).filter(({ active, sync }) => active && sync.state !== 'OK');
  const paused = (webhooks.data?.items ?? []).filter(({ status }) => status === 'PAUSED');
  if (notOk.length === 0 && paused.length === 0) return null;
  return (
    <Section title="Needs a look">
      <ul class="troubles">
        {notOk.map((wallet) => (
          <WalletTrouble key={wallet.id} wallet={wallet} />
        ))}
        {paused.map(({ id, name }) => (
          <li key={id}>
            <Badge label="Paused" tone="caution" />
            <span>
              Webhook <Link href={`/webhooks/${id}`}>{name}</Link> is paused: its deliveries wait.
            </span>
          </li>
        ))}
      </ul>
    </Section>
  );
}

function WalletTrouble({ wallet: { id, name, sync } }: { wallet: Item<'wallets.list'> }) {
  const { label, tone, sentence } = SYNC_STATE[sync.state];
  return (
    <li>
      <Badge label={label} tone={tone} />
      <span>
        Wallet <Link href={`/wallets/${id}`}>{name}</Link>: {sentence}
      </span>
    </li>
  );
}

function Latest() {
  const payments = useRead('payments.list', { pageSize: 5 });
  return (
    <Section title="Latest payments" actions={<Link href="/payments">All payments</Link>}>
      <List
        title="Latest payments"
        query={payments}
        columns={PAYMENT_COLUMNS}
        href={({ id }) => `/payments/${id}`}
        empty="No payments yet. They appear here by themselves."
        paged={false}
      />
    </Section>
  );
}

function OpenCheckouts() {
  const checkouts = useRead('checkouts.list', { status: 'OPEN', pageSize: 5 });
  const total = checkouts.data?.meta.total ?? 0;
  return (
    <Section
      title="Open checkouts"
      actions={total > 5 && <Link href="/checkouts?status=OPEN">All {plural(total, 'open checkout')}</Link>}
    >
      <List
        title="Open checkouts"
        query={checkouts}
        columns={CHECKOUT_COLUMNS}
        href={({ id }) => `/checkouts/${id}`}
        empty="No checkout waits for money."
        paged={false}
      />
    </Section>
  );
}
