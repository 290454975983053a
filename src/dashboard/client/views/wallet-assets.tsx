/** A wallet's balances, and assets that it cannot receive although a product asks for them. */
import { type Item, type Output, useRead, useReads } from '../api.js';
import { short } from '../format.js';
import { Money } from '../parts/bits.js';
import { type Column, Rows } from '../parts/list.js';
import { Section, Shown } from '../parts/page.js';

type Wallet = Item<'wallets.list'>;
type Held = Output<'wallets.assets'>;
type Product = Item<'products.list'>;

const NOT_ON_LEDGER = 'its account is not on the ledger yet: send it some lumens.';
/** The number of wallets that the overview checks on the ledger. */
const MOST_ASKED = 20;
/** The ledger is read rarely: a wallet that can be paid mostly stays so. */
const ASKED_EVERY_MS = 300_000;
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
  return codes.length === 0 ? null : `it cannot receive ${codes.join(', ')} yet: add that in the wallet’s own app.`;
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
  { title: 'Asset', kind: 'main', cell: ({ assetCode, known }) => (known ? `${assetCode}, ${known.name}` : assetCode) },
  {
    title: 'Issuer',
    cell: ({ assetIssuer, known }) => known?.domain ?? (assetIssuer ? short(assetIssuer) : 'Stellar'),
  },
  { title: 'Can receive', cell: ({ authorized }) => (authorized ? 'Yes' : 'Not allowed by the issuer') },
  { title: 'Balance', kind: 'money', cell: ({ balance, assetCode }) => <Money amount={balance} code={assetCode} /> },
];

export function Balances({ wallet }: { wallet: Wallet }) {
  const held = useRead('wallets.assets', { id: wallet.id }, SELDOM);
  const products = useRead('products.list', { pageSize: 100, active: true }).data?.items ?? [];
  const problem = held.data && problemOf(wallet, held.data, products);
  return (
    <Section title="Balances">
      {problem && <p class="callout">This wallet is not ready: {problem}</p>}
      <Shown query={held}>
        {(assets) => (
          <Rows
            title="Balances"
            columns={COLUMNS}
            items={assets.map((each) => ({ ...each, id: `${each.assetCode}:${each.assetIssuer}` }))}
            meta={{ page: 1, pageSize: assets.length, total: assets.length, totalPages: 1 }}
            empty="The account is not on the ledger yet."
            paged={false}
          />
        )}
      </Shown>
    </Section>
  );
}
