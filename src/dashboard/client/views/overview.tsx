/** The overview: problems, first steps, received money, and open work. */
import type { ComponentChildren } from 'preact';
import { Link } from 'wouter-preact';
import {
  type Item,
  type Output,
  type ReadName,
  useRead,
  useReads,
  useSession,
  useWrite,
  type WriteName,
} from '../api.js';
import { Act } from '../parts/act.js';
import { Badge, LinkButton } from '../parts/bits.js';
import { Icon } from '../parts/icon.js';
import { List } from '../parts/list.js';
import { Page, Section } from '../parts/page.js';
import { rich } from '../parts/rich.js';
import { t } from '../texts/texts.js';
import { syncShown, WEBHOOK_HEALTH } from '../words.js';
import { CHECKOUT_COLUMNS } from './checkouts.js';
import { PAYMENT_COLUMNS } from './payments.js';
import { Received } from './received.js';
import { ASKED_EVERY_MS, useUnpayable } from './wallet-assets.js';

export function Overview() {
  return (
    <Page title={t('overview')}>
      <Attention />
      <FirstSteps />
      <Received />
      <Latest />
      <OpenCheckouts />
    </Page>
  );
}

type Step = Output<'account.readiness'>[number]['step'];

/** Where each step is done, and the procedure that who goes there needs. */
const WAYS: Readonly<Record<Step, readonly [href: string, needs: ReadName | WriteName]>> = {
  wallet: ['/wallets', 'wallets.create'],
  product: ['/products/new', 'products.create'],
  link: ['/links/new', 'paymentLinks.create'],
  payment: ['/links', 'paymentLinks.list'],
  told: ['/notifications', 'notifications.set'],
  access: ['/users', 'users.create'],
};

/** What is left until the account can be paid: until all is done, or the list is put away. */
function FirstSteps() {
  const isShown = useRead('account.get', {}).data?.onboarding === 'shown';
  const steps = useRead('account.readiness', {}, { enabled: isShown, refetchInterval: ASKED_EVERY_MS }).data;
  const hasWallet = useRead('wallets.list', { pageSize: 100 }).data?.items.some(({ active }) => active);
  const hide = useWrite('account.update');
  const may = useSession().data?.may ?? [];
  if (!isShown || !steps) return null;
  const next = steps.find(({ done }) => !done)?.step;
  if (next === undefined) return null;
  return (
    <Section
      title={t('firstSteps')}
      actions={
        may.includes('account.update') && (
          <Act label={t('hideSteps')} write={hide} input={{ onboarding: 'hidden' }} done={() => t('stepsHidden')} />
        )
      }
    >
      <ol class="steps">
        {steps.map(({ step, done }) => {
          const [way, needs] = WAYS[step];
          const href = step === 'wallet' && !hasWallet ? '/wallets/new' : way;
          const isOpen = !done && may.includes(needs);
          const label = t(`ready.${step}`);
          return (
            <li key={step} class={done ? 'done' : ''}>
              <div>
                <strong>
                  {isOpen && step !== next ? <Link href={href}>{label}</Link> : label}
                  {done && (
                    <span class="good">
                      {' '}
                      <Icon name="check" /> {t('stepDone')}
                    </span>
                  )}
                </strong>
                <p>{howTo(step, isOpen)}</p>
              </div>
              {isOpen && step === next && <LinkButton href={href}>{label}</LinkButton>}
            </li>
          );
        })}
      </ol>
    </Section>
  );
}

/** @param isOpen whether its links lead to what the user may do */
const howTo = (step: Step, isOpen: boolean): ComponentChildren =>
  step === 'told'
    ? rich('readyHow.told', { webhook: (words) => (isOpen ? <Link href="/webhooks/new">{words}</Link> : words) })
    : t(`readyHow.${step}`);

/** Problems, at the top of the overview; empty when there are none. */
function Attention() {
  const decisions = useRead('payments.list', { needsDecision: true, pageSize: 1 });
  const wallets = useRead('wallets.list', { pageSize: 100 });
  const webhooks = useRead('webhooks.list', { pageSize: 100 });
  const notOk = (wallets.data?.items ?? []).filter(
    ({ active, sync }) => active && (sync.state !== 'OK' || sync.parked > 0),
  );
  const all = webhooks.data?.items ?? [];
  const health = useReads(
    'webhooks.health',
    all.map(({ id }) => ({ id })),
    { keepPrevious: false },
  );
  const silent = all.flatMap((webhook, index) => {
    const state = health[index]?.data?.state;
    return state === 'PAUSED' || state === 'FAILING' ? [{ ...webhook, state }] : [];
  });
  const toDecide = decisions.data?.meta.total ?? 0;
  const unpayable = useUnpayable(wallets.data?.items ?? []);
  if (toDecide + notOk.length + unpayable.length + silent.length === 0) return null;
  return (
    <Section title={t('needsYou')}>
      <ul class="troubles">
        {toDecide > 0 && <Decisions count={toDecide} />}
        {notOk.map((wallet) => (
          <WalletTrouble key={wallet.id} wallet={wallet} />
        ))}
        {unpayable.map(({ wallet, problem }) => (
          <li key={`unpayable ${wallet.id}`}>
            <Badge label={t('cannotBePaid')} tone="bad" />
            <span>
              {rich('walletSays', {
                link: <Link href={`/wallets/${wallet.id}`}>{wallet.name}</Link>,
                sentence: problem,
              })}
            </span>
          </li>
        ))}
        {silent.map((webhook) => (
          <WebhookTrouble key={webhook.id} webhook={webhook} />
        ))}
      </ul>
    </Section>
  );
}

function Decisions({ count }: { count: number }) {
  return (
    <li>
      <Badge label={t('toDecide')} tone="caution" />
      <span>
        {rich('paymentsToDecide', {
          payments: <Link href="/payments?status=decide">{t('paymentsCount', { n: count })}</Link>,
        })}
      </span>
    </li>
  );
}

function WalletTrouble({ wallet: { id, name, sync } }: { wallet: Item<'wallets.list'> }) {
  const { label, tone, sentence } = syncShown(sync);
  return (
    <li>
      <Badge label={label} tone={tone} />
      <span>{rich('walletSays', { link: <Link href={`/wallets/${id}`}>{name}</Link>, sentence })}</span>
    </li>
  );
}

type Silent = Item<'webhooks.list'> & Pick<Output<'webhooks.health'>, 'state'>;

function WebhookTrouble({ webhook: { id, name, state } }: { webhook: Silent }) {
  const { label, tone, sentence } = WEBHOOK_HEALTH[state];
  return (
    <li>
      <Badge label={label} tone={tone} />
      <span>{rich('webhookSays', { link: <Link href={`/webhooks/${id}`}>{name}</Link>, sentence })}</span>
    </li>
  );
}

function Latest() {
  const payments = useRead('payments.list', { pageSize: 5 });
  return (
    <Section title={t('latestPayments')} actions={<Link href="/payments">{t('allPayments')}</Link>}>
      <List
        title={t('latestPayments')}
        query={payments}
        columns={PAYMENT_COLUMNS}
        href={({ id }) => `/payments/${id}`}
        empty={t('noPaymentsYetAppear')}
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
      title={t('openCheckouts')}
      actions={total > 5 && <Link href="/checkouts?status=OPEN">{t('allOpenCheckouts', { n: total })}</Link>}
    >
      <List
        title={t('openCheckouts')}
        query={checkouts}
        columns={CHECKOUT_COLUMNS}
        href={({ id }) => `/checkouts/${id}`}
        empty={t('noOpenCheckouts')}
        paged={false}
      />
    </Section>
  );
}
