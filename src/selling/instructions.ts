/** How to pay a link or a checkout: address, memo in its three spellings, payment request and
 *  QR code. */
import type mongoose from 'mongoose';
import type { Contract } from '../../contracts/index.js';
import { type Network, networkInfo } from '../../contracts/networks.js';
import type { OutputOf } from '../../contracts/operation.js';
import type { Asset } from '../domain/asset.js';
import { memoIdOf } from '../domain/memo.js';
import { originDomainOf, type PayUri, payUri, signedUri } from '../domain/sep7.js';
import { newKeySeed, privateKeyOf, publicBytesOf } from '../domain/signature.js';
import { muxedAddressOf, strkeyOf } from '../domain/strkey.js';
import type { Clock } from '../kit/clock.js';
import { type DocOf, define, openCollection, text } from '../kit/collection.js';
import { isDuplicateKey } from '../kit/database.js';
import type { SecretBox } from '../kit/secrets.js';

// Writes payment requests, signed if the service's address is a domain that can vouch for them,
// else plain.

interface PayRequests {
  payUri: PayUri;
  /** `/.well-known/stellar.toml`, with which wallets verify the requests; null if they are
   *  not signed. */
  stellarToml: string | null;
}

interface PayRequestDeps {
  requestKeys: RequestKeyStore;
  secrets: SecretBox;
  clock: Clock;
}

/** Makes the key on first use. */
export async function openPayRequests(deps: PayRequestDeps, publicUrl: string): Promise<PayRequests> {
  const domain = originDomainOf(publicUrl);
  if (domain === null) return { payUri, stellarToml: null };
  const { _id, sealed, publicKey } = await keyOf(deps);
  const privateKey = privateKeyOf(deps.secrets.open(sealed, _id));
  return {
    payUri: (request) => signedUri(payUri(request), domain, privateKey),
    stellarToml: `# Signs the payment requests (SEP-7) of this domain, and nothing else.\nURI_REQUEST_SIGNING_KEY = "${publicKey}"\n`,
  };
}

async function keyOf({ requestKeys, secrets, clock }: PayRequestDeps): Promise<RequestKeyDoc> {
  const found = await requestKeys.find();
  if (found) return found;
  const _id = 'rqk_1';
  const seed = newKeySeed(clock);
  const publicKey = strkeyOf('G', publicBytesOf(privateKeyOf(seed)));
  await requestKeys.insert({ _id, publicKey, sealed: secrets.seal(seed, _id), createdAt: clock.now() });
  // Another process may have made it first.
  return (await requestKeys.find())!;
}

// The key pair that signs payment requests (SEP-7). There is one, and it never changes: wallets
// warn about a domain whose key changed.

const REQUEST_KEYS = define('requestKeys', {
  /** Constant, so that two processes making the key at once collide. */
  _id: text<'rqk_1'>(),
  /** G… address. */
  publicKey: String,
  /** The private key, sealed for this id. */
  sealed: String,
  createdAt: Date,
});

interface RequestKeyDoc extends DocOf<typeof REQUEST_KEYS> {}

type RequestKeyStore = ReturnType<typeof createRequestKeyStore>;

export function createRequestKeyStore(connection: mongoose.Connection) {
  const collection = openCollection<RequestKeyDoc>(connection, REQUEST_KEYS);
  return {
    find: (): Promise<RequestKeyDoc | null> => collection.findOne({ _id: 'rqk_1' }),
    /** Does nothing if another process has made it. */
    async insert(key: RequestKeyDoc): Promise<void> {
      try {
        await collection.insertOne(key);
      } catch (error) {
        if (!isDuplicateKey(error)) throw error;
      }
    },
  };
}

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

/** QR codes: dark on light in every theme, with the quiet zone of four modules that
 *  readers need. */
const QUIET_ZONE = 4;
/** Fits a phone of 320 px. */
const MAX_SVG_PIXELS = 294;
/** Sharp on a printed poster. */
const MIN_PNG_PIXELS = 600;

/** The library, which is loaded for the first code, and how many modules wide that text's code is
 *  with its margin. */
async function prepare(text: string) {
  const { default: QRCode } = await import('qrcode');
  const { modules } = QRCode.create(text, { errorCorrectionLevel: 'M' });
  return { QRCode, modules: modules.size + 2 * QUIET_ZONE };
}

/** An SVG document. Its size is a whole number of pixels a module, so that every module has
 *  sharp edges. */
export async function qrSvg(text: string): Promise<string> {
  const { QRCode, modules } = await prepare(text);
  const width = modules * Math.max(2, Math.floor(MAX_SVG_PIXELS / modules));
  const svg = await QRCode.toString(text, { type: 'svg', errorCorrectionLevel: 'M', margin: QUIET_ZONE, width });
  return svg.trim();
}

/** A PNG image of at least 600 pixels a side. */
export async function qrPng(text: string): Promise<Buffer> {
  const { QRCode, modules } = await prepare(text);
  const scale = Math.ceil(MIN_PNG_PIXELS / modules);
  return QRCode.toBuffer(text, { type: 'png', errorCorrectionLevel: 'M', margin: QUIET_ZONE, scale });
}
