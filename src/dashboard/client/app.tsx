/** The frame: sign-in, navigation, and the view that the address names. */

import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { Link, Redirect, Route, Switch, useLocation, useRoute } from 'wouter-preact';
import { type ReadName, refresh, type Session, signOut, useRead, useSession, type WriteName } from './api.js';
import { Icon, type IconName } from './parts/icon.js';
import { Failed, Loading, Page } from './parts/page.js';
import { rich } from './parts/rich.js';
import { say, Toasts } from './parts/toast.js';
import { t } from './texts/texts.js';
import { Activity } from './views/activity.js';
import { ApiKeys, NewApiKey } from './views/api-keys.js';
import { Checkout } from './views/checkout.js';
import { NewCheckout } from './views/checkout-form.js';
import { Checkouts } from './views/checkouts.js';
import { Coupon, Coupons, NewCoupon } from './views/coupons.js';
import { Currencies } from './views/currencies.js';
import { Link as PaymentLink } from './views/link.js';
import { Links, NewLink } from './views/links.js';
import { Notifications } from './views/notifications.js';
import { Overview } from './views/overview.js';
import { Payment } from './views/payment.js';
import { Payments } from './views/payments.js';
import { Pos } from './views/pos.js';
import { NewProduct, Product } from './views/product.js';
import { Products } from './views/products.js';
import { Setup } from './views/setup.js';
import { Shop } from './views/shop.js';
import { Invite, SignIn } from './views/sign-in.js';
import { Statement } from './views/statement.js';
import { Me, NewUser, User, Users } from './views/users.js';
import { NewWallet, Wallet, Wallets } from './views/wallets.js';
import { NewWebhook, Webhook } from './views/webhook.js';
import { Webhooks } from './views/webhooks.js';
import { roleWord } from './words.js';

// Notices changes with one small query every few seconds, and refreshes the shown data only when
// its answer changes.

/** Below the 5 s within which recorded payments are shown. */
const EVERY_MS = 3_000;

function usePulse(): void {
  const { data } = useRead(
    'payments.list',
    { status: ['COMPLETED', 'UNDERPAID', 'REJECTED', 'UNMATCHED'], pageSize: 1 },
    { refetchInterval: EVERY_MS },
  );
  const newest = data && `${data.items[0]?.id} ${data.meta.total}`;
  const seen = useRef(newest);
  useEffect(() => {
    if (newest === undefined || newest === seen.current) return;
    if (seen.current !== undefined)
      refresh(['account', 'payments', 'checkouts', 'paymentLinks', 'reports', 'products']);
    seen.current = newest;
  }, [newest]);
}

/** Entries of the navigation, each shown to users who may call its procedure. */
const WAYS: readonly (readonly [path: string, label: string, icon: IconName, needs: ReadName | WriteName])[] = [
  ['/', t('overview'), 'overview', 'reports.summary'],
  ['/pos', t('pointOfSale'), 'till', 'checkouts.create'],
  ['/payments', t('payments'), 'payments', 'payments.list'],
  ['/products', t('products'), 'products', 'paymentLinks.list'],
  ['/links', t('paymentLinks'), 'links', 'paymentLinks.list'],
  ['/checkouts', t('checkouts'), 'checkouts', 'checkouts.list'],
  ['/coupons', t('coupons'), 'coupons', 'coupons.list'],
  ['/wallets', t('wallets'), 'wallets', 'wallets.audits'],
  ['/webhooks', t('webhooks'), 'webhooks', 'webhooks.list'],
  ['/shop', t('yourShop'), 'shop', 'account.update'],
  ['/currencies', t('currencies'), 'currencies', 'rates.list'],
  ['/notifications', t('notifications'), 'mail', 'notifications.get'],
  ['/users', t('people'), 'people', 'users.list'],
  ['/api-keys', t('apiKeys'), 'keys', 'apiKeys.list'],
  ['/activity', t('activity'), 'activity', 'activity.list'],
];

export function App() {
  const session = useSession();
  const [isInvited, params] = useRoute('/invite/:token');
  const [isSetup] = useRoute('/setup');
  return (
    <>
      {isInvited ? (
        <Invite token={params.token} />
      ) : isSetup ? (
        <Setup />
      ) : session.data ? (
        <Signed session={session.data} />
      ) : session.data === null ? (
        <SignIn />
      ) : (
        <main class="sign-in">
          {session.error ? <Failed error={session.error} retry={session.refetch} /> : <Loading />}
        </main>
      )}
      <Toasts />
    </>
  );
}

function Signed({ session }: { session: Session }) {
  usePulse();
  const [path] = useLocation();
  if (path === '/pos' && session.may.includes('checkouts.create')) return <Pos />;
  return (
    <div class="frame">
      <a class="skip" href="#content">
        {t('skipContent')}
      </a>
      <Around session={session} />
      <main id="content" tabIndex={-1}>
        <Views may={session.may} />
      </main>
    </div>
  );
}

function Views({ may }: { may: readonly string[] }) {
  const [path] = useLocation();
  const isSeller = !may.includes('reports.summary');
  // Views are keyed by their address, so that none starts with the state of another.
  const at = <T,>(pattern: T, view: (params: { id: string }) => ComponentChildren) => ({ pattern, view });
  const views = [
    at('/', () => (isSeller ? <Redirect to="/pos" replace /> : <Overview />)),
    at('/payments', () => <Payments />),
    at('/payments/:id', ({ id }) => <Payment id={id} />),
    at('/products', () => <Products />),
    at('/products/new', () => <NewProduct />),
    at('/products/:id', ({ id }) => <Product id={id} />),
    at('/links', () => <Links />),
    at('/links/new', () => <NewLink />),
    at('/links/:id', ({ id }) => <PaymentLink id={id} />),
    at('/checkouts', () => <Checkouts />),
    at('/checkouts/new', () => <NewCheckout />),
    at('/checkouts/:id', ({ id }) => <Checkout id={id} />),
    at('/coupons', () => <Coupons />),
    at('/coupons/new', () => <NewCoupon />),
    at('/coupons/:id', ({ id }) => <Coupon id={id} />),
    at('/wallets', () => <Wallets />),
    at('/wallets/new', () => <NewWallet />),
    at('/wallets/:id', ({ id }) => <Wallet id={id} />),
    at('/wallets/:id/statement', ({ id }) => <Statement id={id} />),
    at('/webhooks', () => <Webhooks />),
    at('/webhooks/new', () => <NewWebhook />),
    at('/webhooks/:id', ({ id }) => <Webhook id={id} />),
    at('/shop', () => <Shop />),
    at('/currencies', () => <Currencies />),
    at('/notifications', () => <Notifications />),
    at('/me', () => <Me />),
    at('/users', () => <Users />),
    at('/users/new', () => <NewUser />),
    at('/users/:id', ({ id }) => <User id={id} />),
    at('/activity', () => <Activity />),
    at('/api-keys', () => <ApiKeys />),
    at('/api-keys/new', () => <NewApiKey />),
  ];
  return (
    <Switch key={path}>
      {views.map(({ pattern, view }) => (
        <Route key={pattern} path={pattern}>
          {(params: Record<string, string | undefined>) => view({ id: params.id ?? '' })}
        </Route>
      ))}
      <Route>
        <Page title={t('pageNotFound')}>
          <p>{rich('addressIncomplete', { link: (words) => <Link href="/">{words}</Link> })}</p>
        </Page>
      </Route>
    </Switch>
  );
}

function Around({ session: { account, scope, user, may, networks } }: { session: Session }) {
  const [path] = useLocation();
  const [isOpen, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  const leave = async () => {
    const failure = await signOut();
    if (failure) say(failure.message, { isBad: true });
  };
  const isHere = (way: string) => (way === '/' ? path === '/' : path === way || path.startsWith(`${way}/`));
  return (
    <header class={isOpen ? 'around open' : 'around'}>
      <div class="brand">
        <strong>{account.name}</strong>
        <button
          type="button"
          class="quiet menu"
          aria-expanded={isOpen}
          aria-controls="ways"
          onClick={() => setOpen(!isOpen)}
        >
          <Icon name="menu" />
          {t('menu')}
        </button>
      </div>
      <div class="ways" id="ways">
        <nav aria-label={t('dashboard')}>
          <ul>
            {WAYS.filter(([, , , needs]) => may.includes(needs)).map(([way, label, icon]) => (
              <li key={way}>
                <Link href={way} {...(isHere(way) ? { 'aria-current': 'page' } : {})}>
                  <Icon name={icon} />
                  {label}
                </Link>
              </li>
            ))}
          </ul>
        </nav>
        <div class="foot">
          {!networks.includes('PUBLIC') && (
            <p class="note caution">{t('testMoneyOnly', { networks: networks.join(', ') })}</p>
          )}
          {user && (
            <p class="note">
              <Link href="/me">{user.name}</Link> · {roleWord(user.role)}
            </p>
          )}
          {!user && scope === 'READ' && <p class="note">{t('signedReadKeyCan')}</p>}
          <button type="button" class="quiet" onClick={leave}>
            {t('signOut')}
          </button>
        </div>
      </div>
    </header>
  );
}
