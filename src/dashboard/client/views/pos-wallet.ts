/** At the till: the wallet that is charged to where none was chosen. */
import { type Item, useReads } from '../api.js';

type Wallet = Item<'wallets.list'>;

/** The number of wallets that are looked up on the ledger. */
const MOST_ASKED = 20;
/** The ledger is read rarely: a wallet that can be paid mostly stays so. */
const STALE_MS = 300_000;

/** The first wallet that can be paid, else the first of which it is unknown, else the first. */
export function usePayable(wallets: readonly Wallet[]): { payable: Wallet | undefined; isAsked: boolean } {
  const asked = wallets.slice(0, MOST_ASKED);
  const held = useReads(
    'wallets.assets',
    asked.map(({ id }) => ({ id })),
    { staleTime: STALE_MS, refetchInterval: false, keepPrevious: false },
  );
  const isReady = (index: number) => held[index]?.data?.some(({ authorized }) => authorized);
  const isAsked = held.some(({ isPending }) => isPending);
  const payable =
    asked.find((_, index) => isReady(index)) ?? asked.find((_, index) => isReady(index) === undefined) ?? wallets[0];
  // One that is taken back a moment later would be charged to by mistake.
  return { payable: isAsked ? undefined : payable, isAsked };
}
