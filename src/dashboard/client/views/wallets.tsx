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
import { rich } from '../parts/rich.js';
import { say } from '../parts/toast.js';
import { t } from '../texts/texts.js';
import { networkOptions, syncShown } from '../words.js';
import { Balances } from './wallet-assets.js';
import { Audits, Gaps } from './wallet-proof.js';

type Wallet = Item<'wallets.list'>;

const SyncBadge = ({ active, sync }: Wallet) =>
  active ? <Badge {...syncShown(sync)} /> : <Badge label={t('off')} tone="quiet" />;

function WalletSwitch({ wallet: { id, name, active } }: { wallet: Wallet }) {
  const { mutateAsync } = useWrite('wallets.update');
  return (
    <Toggle
      what={t('watchName', { name })}
      isOn={active}
      set={(isOn) => mutateAsync({ id, active: isOn })}
      on={t('watched')}
      off={t('notWatched')}
    />
  );
}

const COLUMNS: readonly Column<Wallet>[] = [
  { title: t('name'), kind: 'main', cell: ({ name }) => <bdi>{name}</bdi> },
  { title: t('address'), cell: ({ address }) => <Code text={address} what={t('theAddress')} /> },
  { title: t('network'), kind: 'wide', cell: ({ network }) => network },
  { title: t('state'), cell: (wallet) => <SyncBadge {...wallet} /> },
];

export function Wallets() {
  const wallets = useRead('wallets.list', { page: usePage() });
  const canWrite = useCanWrite();
  return (
    <Page
      title={t('wallets')}
      actions={
        canWrite && (
          <LinkButton href="/wallets/new" icon="plus">
            {t('addWallet')}
          </LinkButton>
        )
      }
    >
      <List
        title={t('wallets')}
        query={wallets}
        columns={COLUMNS}
        href={({ id }) => `/wallets/${id}`}
        empty={t('noWalletsYetAdd')}
      />
    </Page>
  );
}

const BACK = { href: '/wallets', label: t('wallets') };

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
      say(t('nameWatched', { name: wallet.name }));
      navigate(`/wallets/${wallet.id}`);
    } catch {}
  };
  return (
    <Page title={t('addWallet')} back={BACK}>
      <Form
        submit={t('addTheWallet')}
        isBusy={create.isPending}
        failure={create.error ? failureOf(create.error) : null}
        onSubmit={submit}
        draft={draft}
      >
        <Field name="name" label={t('name')} hint={t('onlyCustomersNotSee')} />
        <Field name="address" label={t('address')} placeholder="G…" hint={t('wherePaymentsGoWallets')} />
        <Field name="network" label={t('network')} options={networkOptions(networks)} value={networks[0] ?? ''} />
      </Form>
    </Page>
  );
}

export function Wallet({ id }: { id: string }) {
  const wallet = useRead('wallets.get', { id }, { keepPrevious: false });
  return (
    <Loaded query={wallet} title={t('wallet')} back={BACK}>
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
            {t('statement')}
          </LinkButton>
          <WalletSwitch wallet={wallet} />
        </>
      }
    >
      <p class="lead">{active ? syncShown(sync).sentence : t('walletNotWatchedPayments')}</p>
      {canWrite && products.data?.meta.total === 0 && (
        <p>{rich('nextCreateProduct', { link: (words) => <Link href="/products/new">{words}</Link> })}</p>
      )}
      <Facts
        facts={[
          [t('address'), <Code key="address" text={address} what={t('theAddress')} whole />],
          [t('network'), network],
          [t('readUpLedger'), sync.ledger !== null && grouped(String(sync.ledger))],
          [t('asOf'), sync.at && <Time at={sync.at} exact />],
          [t('parkedRecords'), sync.parked > 0 && grouped(String(sync.parked))],
          [t('added'), <Time key="added" at={wallet.createdAt} exact />],
          [t('walletId'), <Code key="id" text={id} what={t('theWalletsId')} whole />],
        ]}
      />
      <Balances wallet={wallet} />
      {sync.state === 'GAP' && active && <p class="callout bad">{t('readMissedLedgersBelow')}</p>}
      <Gaps walletId={id} />
      <Audits walletId={id} />
      {canWrite && (
        <Section title={t('rename')}>
          <Rename wallet={wallet} />
        </Section>
      )}
      {canWrite && (
        <Section title={t('delete')}>
          <p class="hint">{t('walletPaymentsProductsCheckouts')}</p>
          <Delete label={t('deleteTheWallet')} name={name} id={id} write={remove} to="/wallets">
            <p>{t('accountLedgerNotAffected')}</p>
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
      say(t('saved'));
    } catch {}
  };
  return (
    <Form
      submit={t('save')}
      isBusy={update.isPending}
      failure={update.error ? failureOf(update.error) : null}
      onSubmit={submit}
    >
      <Field name="name" label={t('name')} value={name} />
    </Form>
  );
}
