/** Writes payment requests, signed if the service's address is a domain that can vouch for them, else plain. */

import { originDomainOf, type PayUri, payUri, signedUri } from '../domain/sep7.js';
import { newKeySeed, privateKeyOf, publicBytesOf } from '../domain/signature.js';
import { strkeyOf } from '../domain/strkey.js';
import type { Clock } from '../kit/clock.js';
import type { SecretBox } from '../kit/secrets.js';
import type { RequestKeyDoc, RequestKeyStore } from './request-keys.js';

interface PayRequests {
  payUri: PayUri;
  /** `/.well-known/stellar.toml`, with which wallets verify the requests; null if they are not signed. */
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
