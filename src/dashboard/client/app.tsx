/** The frame: signing in, the way around, and the view that the address names. */
import type { ComponentChildren } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import { Link, Route, Switch, useLocation } from 'wouter-preact';
import { type Session, signOut, useSession } from './api.js';
import { Icon, type IconName } from './parts/icon.js';
import { Failed, Loading, Page } from './parts/page.js';
import { say, Toasts } from './parts/toast.js';
import { usePulse } from './pulse.js';
import { ApiKeys, NewApiKey } from './views/api-keys.js';
import { Checkout } from './views/checkout.js';
import { NewCheckout } from './views/checkout-form.js';
import { Checkouts } from './views/checkouts.js';
import { Link as PaymentLink, Poster } from './views/link.js';
import { Links, NewLink } from './views/links.js';
import { Overview } from './views/overview.js';
import { Payment } from './views/payment.js';
import { Payments } from './views/payments.js';
import { NewProduct, Product } from './views/product.js';
import { Products } from './views/products.js';
import { SignIn } from './views/sign-in.js';
import { Statement } from './views/statement.js';
import { NewWallet, Wallet, Wallets } from './views/wallets.js';
import { NewWebhook, Webhook } from './views/webhook.js';
import { Webhooks } from './views/webhooks.js';

const WAYS: readonly (readonly [path: string, label: string, icon: IconName])[] = [
  ['/', 'Overview', 'overview'],
  ['/payments', 'Payments', 'payments'],
  ['/products', 'Products', 'products'],
  ['/links', 'Payment links', 'links'],
  ['/checkouts', 'Checkouts', 'checkouts'],
  ['/wallets', 'Wallets', 'wallets'],
  ['/webhooks', 'Webhooks', 'webhooks'],
  ['/api-keys', 'API keys', 'keys'],
];

export function App() {
  const session = useSession();
  return (
    <>
      {session.data ? (
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
  return (
    <div class="frame">
      <a class="skip" href="#content">
        Skip to the content
      </a>
      <Around session={session} />
      <main id="content" tabIndex={-1}>
        <Views />
      </main>
    </div>
  );
}

function Views() {
  const [path] = useLocation();
  // A view of another address is another view: it begins anew.
  const at = <T,>(pattern: T, view: (params: { id: string }) => ComponentChildren) => ({ pattern, view });
  const views = [
    at('/', () => <Overview />),
    at('/payments', () => <Payments />),
    at('/payments/:id', ({ id }) => <Payment id={id} />),
    at('/products', () => <Products />),
    at('/products/new', () => <NewProduct />),
    at('/products/:id', ({ id }) => <Product id={id} />),
    at('/links', () => <Links />),
    at('/links/new', () => <NewLink />),
    at('/links/:id', ({ id }) => <PaymentLink id={id} />),
    at('/links/:id/poster', ({ id }) => <Poster id={id} />),
    at('/checkouts', () => <Checkouts />),
    at('/checkouts/new', () => <NewCheckout />),
    at('/checkouts/:id', ({ id }) => <Checkout id={id} />),
    at('/wallets', () => <Wallets />),
    at('/wallets/new', () => <NewWallet />),
    at('/wallets/:id', ({ id }) => <Wallet id={id} />),
    at('/wallets/:id/statement', ({ id }) => <Statement id={id} />),
    at('/webhooks', () => <Webhooks />),
    at('/webhooks/new', () => <NewWebhook />),
    at('/webhooks/:id', ({ id }) => <Webhook id={id} />),
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
        <Page title="There is no such page">
          <p>
            The address may be incomplete. <Link href="/">Go to the overview.</Link>
          </p>
        </Page>
      </Route>
    </Switch>
  );
}

function Around({ session: { account, scope, networks } }: { session: Session }) {
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
          Menu
        </button>
      </div>
      <div class="ways" id="ways">
        <nav aria-label="Dashboard">
          <ul>
            {WAYS.map(([way, label, icon]) => (
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
          {!networks.includes('PUBLIC') && <p class="note">Test money only: {networks.join(', ')}</p>}
          {scope === 'READ' && (
            <p class="note">Signed in with a READ key: you can see everything and change nothing.</p>
          )}
          <button type="button" class="quiet" onClick={leave}>
            Sign out
          </button>
        </div>
      </div>
    </header>
  );
}
