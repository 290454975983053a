/** Wallets: the watched Stellar accounts, and how far the ledger has been read for each. */
import { Link, useLocation } from 'wouter-preact';
import { usePage } from '../address.js';
import { failureOf, type Item, useRead, useSession, useWrite } from '../api.js';
import { grouped } from '../format.js';
import { Delete, Toggle, useCanWrite } from '../parts/act.js';
import { Badge, Code, Facts, LinkButton, Time } from '../parts/bits.js';
import { useDraft } from '../parts/draft.js';
import { Field, Form, type Values } from '../parts/form.js';
import { type Column, List } from '../parts/list.js';
import { Loaded, Page, Section } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { networkOptions, syncShown } from '../words.js';
import { Balances } from './wallet-assets.js';
import { Audits, Gaps } from './wallet-proof.js';

type Wallet = Item<'wallets.list'>;

const SyncBadge = ({ active, sync }: Wallet) =>
  active ? <Badge {...syncShown(sync)} /> : <Badge label="Off" tone="quiet" />;

function WalletSwitch({ wallet: { id, name, active } }: { wallet: Wallet }) {
  const { mutateAsync } = useWrite('wallets.update');
  return (
    <Toggle
      what={`Watch ${name}`}
      isOn={active}
      set={(isOn) => mutateAsync({ id, active: isOn })}
      on="Watched"
      off="Not watched"
    />
  );
}

const COLUMNS: readonly Column<Wallet>[] = [
  { title: 'Name', kind: 'main', cell: ({ name }) => <bdi>{name}</bdi> },
  { title: 'Address', cell: ({ address }) => <Code text={address} what="the address" /> },
  { title: 'Network', kind: 'wide', cell: ({ network }) => network },
  { title: 'State', cell: (wallet) => <SyncBadge {...wallet} /> },
];

export function Wallets() {
  const wallets = useRead('wallets.list', { page: usePage() });
  const canWrite = useCanWrite();
  return (
    <Page
      title="Wallets"
      actions={
        canWrite && (
          <LinkButton href="/wallets/new" icon="plus">
            Add a wallet
          </LinkButton>
        )
      }
    >
      <List
        title="Wallets"
        query={wallets}
        columns={COLUMNS}
        href={({ id }) => `/wallets/${id}`}
        empty="No wallets yet. Add the Stellar account that payments go to."
      />
    </Page>
  );
}

const BACK = { href: '/wallets', label: 'Wallets' };

export function NewWallet() {
  const networks = useSession().data?.networks ?? [];
  const create = useWrite('wallets.create');
  const draft = useDraft('wallet:new');
  const [, navigate] = useLocation();
  const submit = async (values: Values) => {
    const network = values.text('network') as Wallet['network'];
    try {
      const wallet = await create.mutateAsync({ name: values.text('name'), address: values.text('address'), network });
      draft.forget();
      say(`${wallet.name} is watched.`);
      navigate(`/wallets/${wallet.id}`);
    } catch {}
  };
  return (
    <Page title="Add a wallet" back={BACK}>
      <Form
        submit="Add the wallet"
        isBusy={create.isPending}
        failure={create.error ? failureOf(create.error) : null}
        onSubmit={submit}
        draft={draft}
      >
        <Field name="name" label="Name" hint="Only for you: customers do not see it." />
        <Field
          name="address"
          label="Address"
          placeholder="G…"
          hint="Where payments go: your wallet’s app shows it under “Receive”. Never enter a secret key (S…) here."
        />
        <Field name="network" label="Network" options={networkOptions(networks)} value={networks[0] ?? ''} />
      </Form>
    </Page>
  );
}

export function Wallet({ id }: { id: string }) {
  const wallet = useRead('wallets.get', { id }, { keepPrevious: false });
  return (
    <Loaded query={wallet} title="Wallet" back={BACK}>
      {(data) => <Details wallet={data} />}
    </Loaded>
  );
}

function Details({ wallet }: { wallet: Wallet }) {
  const { id, name, address, network, active, sync } = wallet;
  const canWrite = useCanWrite();
  const products = useRead('products.list', { pageSize: 1 });
  const remove = useWrite('wallets.delete');
  return (
    <Page
      title={name}
      about={id}
      back={BACK}
      badge={<SyncBadge {...wallet} />}
      actions={
        <>
          <LinkButton href={`/wallets/${id}/statement`} plain>
            Statement
          </LinkButton>
          <WalletSwitch wallet={wallet} />
        </>
      }
    >
      <p class="lead">
        {active
          ? syncShown(sync).sentence
          : 'The wallet is not watched: payments that arrive now will not be found later.'}
      </p>
      {canWrite && products.data?.meta.total === 0 && (
        <p>
          Next, <Link href="/products/new">create a product</Link>: what you sell, and what it costs.
        </p>
      )}
      <Facts
        facts={[
          ['Address', <Code key="address" text={address} what="the address" whole />],
          ['Network', network],
          ['Read up to ledger', sync.ledger !== null && grouped(String(sync.ledger))],
          ['As of', sync.at && <Time at={sync.at} exact />],
          ['Parked records', sync.parked > 0 && grouped(String(sync.parked))],
          ['Added', <Time key="added" at={wallet.createdAt} exact />],
          ['Wallet id', <Code key="id" text={id} what="the wallet’s id" whole />],
        ]}
      />
      <Balances wallet={wallet} />
      {sync.state === 'GAP' && active && (
        <p class="callout bad">
          Read the missed ledgers below. If no server has them any more, look for the payments of that time yourself,
          then switch the wallet off and on again to continue from now.
        </p>
      )}
      <Gaps walletId={id} />
      <Audits walletId={id} />
      {canWrite && (
        <Section title="Rename">
          <Rename wallet={wallet} />
        </Section>
      )}
      {canWrite && (
        <Section title="Delete">
          <p class="hint">
            A wallet that has payments, products or checkouts cannot be deleted: switch it off instead.
          </p>
          <Delete what="wallet" name={name} id={id} write={remove} to="/wallets">
            <p>The account on the ledger is not affected, but it is no longer watched.</p>
          </Delete>
        </Section>
      )}
    </Page>
  );
}

function Rename({ wallet: { id, name } }: { wallet: Wallet }) {
  const update = useWrite('wallets.update');
  const submit = async (values: Values) => {
    try {
      await update.mutateAsync({ id, name: values.text('name') });
      say('Saved.');
    } catch {}
  };
  return (
    <Form
      submit="Save"
      isBusy={update.isPending}
      failure={update.error ? failureOf(update.error) : null}
      onSubmit={submit}
    >
      <Field name="name" label="Name" value={name} />
    </Form>
  );
}
