/** Wallets as the API and the events show them. */
import type { Contract } from '../../contracts/index.js';
import { knownAsset } from '../../contracts/known-assets.js';
import type { OutputOf } from '../../contracts/operation.js';
import { formatAmount } from '../domain/amount.js';
import { type Asset, assetName } from '../domain/asset.js';
import type { GapDoc } from './gap-store.js';
import type { WalletDoc } from './wallet-store.js';

export type Wallet = OutputOf<Contract['wallets']['get']>;
type Gap = OutputOf<Contract['wallets']['gaps']>['items'][number];

export const toWallet = (wallet: WalletDoc, sync: Wallet['sync']): Wallet => ({
  ...toWalletSummary(wallet),
  active: wallet.active,
  sync,
  createdAt: wallet.createdAt.toISOString(),
});

export const toGap = ({ fromLedger, toLedger, at, mendedAt }: GapDoc): Gap => ({
  fromLedger,
  toLedger,
  at: at.toISOString(),
  mendedAt: mendedAt?.toISOString() ?? null,
});

/** Lumens first, then by code. */
export const toWalletAssets = (
  held: readonly { asset: Asset; stroops: bigint; authorized: boolean }[],
): OutputOf<Contract['wallets']['assets']> =>
  held
    .toSorted((a, b) => orderOf(a.asset).localeCompare(orderOf(b.asset), 'en'))
    .map(({ asset: { code, issuer }, stroops, authorized }) => {
      const known = knownAsset(code, issuer);
      return {
        ...{ assetCode: code, assetIssuer: issuer, balance: formatAmount(stroops), authorized },
        known: known && { name: known.name, domain: known.domain },
      };
    });

const orderOf = (asset: Asset) => (asset.issuer === null ? '' : assetName(asset));

export const toWalletSummary = ({
  _id,
  name,
  address,
  network,
}: WalletDoc): OutputOf<Contract['products']['get']>['wallet'] => ({
  id: _id,
  name,
  address,
  network,
});
