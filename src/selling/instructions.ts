/** How to pay a link or a checkout: address, memo in its three spellings, payment request and QR code. */
import type { Contract } from '../../contracts/index.js';
import { type Network, networkInfo } from '../../contracts/networks.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { Asset } from '../domain/asset.js';
import { memoIdOf } from '../domain/memo.js';
import type { PayUri } from '../domain/sep7.js';
import { muxedAddressOf } from '../domain/strkey.js';
import { qrSvg } from './qr.js';

type Instructions = OutputOf<Contract['paymentLinks']['instructions']>;

interface Payable {
  address: string;
  network: Network;
  memo: string;
  asset: Asset;
  /** Canonical decimal text; null lets the payer choose. */
  amount: string | null;
  pageUrl: string;
}

export async function toInstructions(
  { address, network, memo, asset, amount, pageUrl }: Payable,
  payUri: PayUri,
): Promise<Instructions> {
  const memoId = memoIdOf(memo);
  const uri = payUri({ destination: address, amount, asset, memo, network });
  return {
    address,
    muxedAddress: muxedAddressOf(address, memoId),
    memo,
    memoId,
    amount,
    assetCode: asset.code,
    assetIssuer: asset.issuer,
    network,
    networkPassphrase: networkInfo[network].passphrase,
    uri,
    qrSvg: await qrSvg(uri),
    pageUrl,
  };
}
