/** A wallet's balances, and assets that it cannot receive although a product asks for them. */
import { type Item, type Output, useRead, useReads } from '../api.js';
import { short } from '../format.js';
import { Money } from '../parts/bits.js';
import { type Column, Rows } from '../parts/list.js';
import { Section, Shown } from '../parts/page.js';
import { t } from '../texts/texts.js';

type Wallet = Item<'wallets.list'>;
type Held = Output<'wallets.assets'>;
type Product = Item<'products.list'>;

const NOT_ON_LEDGER = t('accountNotLedgerYet');
/** The number of wallets that the overview checks on the ledger. */
const MOST_ASKED = 20;
/** The ledger is read rarely: a wallet that can be paid mostly stays so. */
export const ASKED_EVERY_MS = 300_000;
const SELDOM = { staleTime: ASKED_EVERY_MS, refetchInterval: ASKED_EVERY_MS, keepPrevious: false } as const;

/** Why the wallet cannot receive what its products ask for; null when it can. */
function problemOf(wallet: Wallet, held: Held, products: readonly Product[]): string | null {
  if (held.length === 0) return NOT_ON_LEDGER;
  const lacks = products.filter(
    ({ active, wallet: { id }, assetCode, assetIssuer }) =>
      active &&
      id === wallet.id &&
      assetIssuer !== wallet.address &&
      !held.some((each) => each.authorized && each.assetCode === assetCode && each.assetIssuer === assetIssuer),
  );
  const codes = [...new Set(lacks.map(({ assetCode }) => assetCode))];
  return codes.length === 0 ? null : t('cannotReceiveCodes', { codes: codes.join(', ') });
}

export function useUnpayable(wallets: readonly Wallet[]): { wallet: Wallet; problem: string }[] {
  const asked = wallets.filter(({ active }) => active).slice(0, MOST_ASKED);
  const held = useReads(
    'wallets.assets',
    asked.map(({ id }) => ({ id })),
    SELDOM,
  );
  const products = useRead('products.list', { pageSize: 100, active: true }).data?.items;
  if (!products) return [];
  return asked.flatMap((wallet, index) => {
    const assets = held[index]?.data;
    const problem = assets ? problemOf(wallet, assets, products) : null;
    return problem ? [{ wallet, problem }] : [];
  });
}

const COLUMNS: readonly Column<Held[number] & { id: string }>[] = [
  {
    title: t('asset'),
    kind: 'main',
    cell: ({ assetCode, known }) => (known ? `${assetCode}, ${known.name}` : assetCode),
  },
  {
    title: t('issuer'),
    cell: ({ assetIssuer, known }) => known?.domain ?? (assetIssuer ? short(assetIssuer) : 'Stellar'),
  },
  { title: t('canReceive'), cell: ({ authorized }) => (authorized ? t('yes') : t('notAllowedIssuer')) },
  { title: t('balance'), kind: 'money', cell: ({ balance, assetCode }) => <Money amount={balance} code={assetCode} /> },
];

export function Balances({ wallet }: { wallet: Wallet }) {
  const held = useRead('wallets.assets', { id: wallet.id }, SELDOM);
  const products = useRead('products.list', { pageSize: 100, active: true }).data?.items ?? [];
  const problem = held.data && problemOf(wallet, held.data, products);
  return (
    <Section title={t('balances')}>
      {problem && <p class="callout">{t('walletNotReadyProblem', { problem })}</p>}
      <Shown query={held}>
        {(assets) => (
          <Rows
            title={t('balances')}
            columns={COLUMNS}
            items={assets.map((each) => ({ ...each, id: `${each.assetCode}:${each.assetIssuer}` }))}
            meta={{ page: 1, pageSize: assets.length, total: assets.length, totalPages: 1 }}
            empty={t('accountNotLedgerYetDone')}
            paged={false}
          />
        )}
      </Shown>
    </Section>
  );
}
