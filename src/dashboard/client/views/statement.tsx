/** A wallet's statement: its balances at the start and end of a period, and all movements between.
 *  It is read from the ledger, so only on request. */
import { useState } from 'preact/hooks';
import { BASE, usePage, useParam } from '../address.js';
import { type Item, type Output, useRead } from '../api.js';
import { amountOf, longMonth, monthOf, short, signed, startOfDay, startOfMonth, stroopsOf } from '../format.js';
import { Facts, Money, Time } from '../parts/bits.js';
import { Download, File } from '../parts/export.js';
import { type Options, Search, Select, Tabs } from '../parts/filters.js';
import { type Column, Rows } from '../parts/list.js';
import { Loaded, Page, Shown } from '../parts/page.js';
import { t } from '../texts/texts.js';
import { movementWord } from '../words.js';

type Wallet = Item<'wallets.list'>;
type Statement = Output<'wallets.statement'>;
type OfAsset = Statement['assets'][number];

const MONTHS_SHOWN = 24;
const ROWS_SHOWN = 50;
const DAYS = 'days';

export function Statement({ id }: { id: string }) {
  const wallet = useRead('wallets.get', { id }, { keepPrevious: false });
  return (
    <Loaded query={wallet} title={t('statement')} back={{ href: `/wallets/${id}`, label: t('wallet') }}>
      {(data) => <Details wallet={data} />}
    </Loaded>
  );
}

/** Months from this one back to the wallet's first, and a period of the merchant's choice. */
function periodsOf({ createdAt }: Wallet): Options {
  const thisMonth = monthOf(new Date());
  const first = monthOf(new Date(createdAt));
  const months = Array.from({ length: MONTHS_SHOWN }, (_, back) => monthOf(startOfMonth(thisMonth, -back)));
  return [
    ['', longMonth(thisMonth)],
    ...months
      .slice(1)
      .filter((month) => month >= first)
      .map((month) => [month, longMonth(month)] as const),
    [DAYS, t('otherDays')],
  ];
}

/** In the browser's zone; without `to` the period ends now. */
function usePeriod(): { from?: string; to?: string } {
  const [period] = useParam('period');
  const [from] = useParam('from');
  const [to] = useParam('to');
  if (period === DAYS) {
    return {
      ...(isDay(from) && { from: startOfDay(from).toISOString() }),
      // The last day is included.
      ...(isDay(to) && { to: startOfDay(to, 1).toISOString() }),
    };
  }
  const month = /^\d{4}-\d{2}$/.test(period) ? period : monthOf(new Date());
  const end = startOfMonth(month, 1);
  return { from: startOfMonth(month).toISOString(), ...(end < new Date() && { to: end.toISOString() }) };
}

const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text);

function Details({ wallet }: { wallet: Wallet }) {
  const { id, name } = wallet;
  const [period] = useParam('period');
  const times = usePeriod();
  const statement = useRead(
    'wallets.statement',
    { id, ...times },
    { keepPrevious: false, refetchInterval: false, staleTime: Number.POSITIVE_INFINITY },
  );
  const [isOpen, setOpen] = useState(false);
  const file = `${BASE}/api/wallets/${id}/statement?${new URLSearchParams({ format: 'csv', ...times })}`;
  return (
    <Page
      title={t('statementName', { name })}
      back={{ href: `/wallets/${id}`, label: name }}
      actions={
        <button type="button" class="plain" onClick={() => setOpen(true)}>
          {t('download')}
        </button>
      }
    >
      {isOpen && (
        <Download title={t('statementName', { name })} onClose={() => setOpen(false)}>
          {(csv) => <File href={`${file}&${csv}`} label={t('downloadCsv')} />}
        </Download>
      )}
      <div class="grid">
        <Select name="period" label={t('period')} options={periodsOf(wallet)} />
        {period === DAYS && (
          <>
            <Search name="from" label={t('fromDay')} type="date" />
            <Search name="to" label={t('untilDay')} type="date" />
          </>
        )}
      </div>
      <Shown query={statement}>{(data) => <Assets {...data} />}</Shown>
    </Page>
  );
}

const keyOf = ({ assetCode, assetIssuer }: OfAsset) => (assetIssuer ? `${assetCode}:${assetIssuer}` : assetCode);

function Assets({ assets }: Statement) {
  const [chosen, choose] = useParam('asset');
  const shown = assets.find((asset) => keyOf(asset) === chosen) ?? assets[0];
  if (!shown) return <p class="empty">{t('noBalancesNoMovements')}</p>;
  return (
    <>
      {assets.length > 1 && (
        <Tabs
          label={t('asset')}
          options={assets.map((asset) => [keyOf(asset), nameOf(asset)] as const)}
          value={keyOf(shown)}
          set={choose}
        />
      )}
      <Asset asset={shown} />
    </>
  );
}

const nameOf = ({ assetCode, assetIssuer }: OfAsset) =>
  assetIssuer ? t('codeOfIssuer', { code: assetCode, issuer: short(assetIssuer) }) : assetCode;

type Row = OfAsset['movements'][number] & { id: string; balance: string; assetCode: string };

const COLUMNS: readonly Column<Row>[] = [
  { title: t('whatHappened'), kind: 'main', cell: ({ kind }) => movementWord(kind) },
  { title: t('memo'), kind: 'wide', cell: ({ memo }) => <bdi>{memo}</bdi> },
  {
    title: t('with'),
    kind: 'wide',
    cell: ({ counterparty }) => counterparty && <code title={counterparty}>{short(counterparty)}</code>,
  },
  { title: t('when'), cell: ({ at }) => <Time at={at} /> },
  { title: t('amount'), kind: 'money', cell: ({ amount, assetCode }) => <Signed amount={amount} code={assetCode} /> },
  { title: t('balance'), kind: 'money wide', cell: ({ balance }) => <span class="money">{signed(balance)}</span> },
];

const Signed = ({ amount, code }: { amount: string; code: string }) => (
  <span class="money">
    {signed(amount)} <span class="code">{code}</span>
  </span>
);

function Asset({ asset: { assetCode, opening, closing, movements } }: { asset: OfAsset }) {
  const page = usePage();
  let balance = stroopsOf(opening);
  let [cameIn, wentOut] = [0n, 0n];
  const rows = movements.map((movement, index): Row => {
    const moved = stroopsOf(movement.amount);
    balance += moved;
    if (moved > 0n) cameIn += moved;
    else wentOut -= moved;
    return { ...movement, id: String(index), balance: amountOf(balance), assetCode };
  });
  const meta = {
    page,
    pageSize: ROWS_SHOWN,
    total: rows.length,
    totalPages: Math.ceil(rows.length / ROWS_SHOWN),
  };
  return (
    <>
      <Facts
        facts={[
          [t('openingBalance'), <Signed key="opening" amount={opening} code={assetCode} />],
          [t('cameIn'), <Money key="in" amount={amountOf(cameIn)} code={assetCode} />],
          [t('wentOut'), <Money key="out" amount={amountOf(wentOut)} code={assetCode} />],
          [t('closingBalance'), <Signed key="closing" amount={closing} code={assetCode} />],
        ]}
      />
      <Rows
        title={t('movementsAssetCode', { assetCode })}
        columns={COLUMNS}
        items={rows.slice((page - 1) * ROWS_SHOWN, page * ROWS_SHOWN)}
        meta={meta}
        href={({ paymentId }) => paymentId && `/payments/${paymentId}`}
        empty={t('noMovementsTime')}
      />
    </>
  );
}
