/** Events of assets (CAP-67): movements reported by the asset's own contract. Any contract can emit
 *  an event of the same form; only the contract's id tells them apart. */
import type { Asset as SdkAsset } from '@stellar/stellar-sdk/base';
import { type Asset, NATIVE } from '../../domain/asset.js';
import { sdk } from '../../domain/stellar-sdk.js';
import { inArm } from './xdr-json.js';

export interface TokenEvent {
  type: 'transfer' | 'mint' | 'burn' | 'clawback';
  /** G…, C…, B…, L… or W…; null if the type has none, or if it is unreadable. */
  from: string | null;
  to: string | null;
  asset: Asset;
}

/** The id of an asset's contract, C…; null for an invalid asset. */
export type ContractIdOf = (asset: string) => string | null;

const MAX_REMEMBERED = 10_000;

/** @param passphrase of the network: a contract's id differs between networks */
export function createContractIds(passphrase: string): ContractIdOf {
  const known = new Map<string, string | null>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    if (known.size >= MAX_REMEMBERED) known.clear();
    const asset = parseAsset(name);
    const id = asset && toSdkAsset(asset)?.contractId(passphrase);
    known.set(name, id ?? null);
    return id ?? null;
  };
}

/** Reads `native` or `CODE:ISSUER`. */
function parseAsset(name: string): Asset | null {
  if (name === 'native') return NATIVE;
  const [, code, issuer] = /^([A-Za-z0-9]{1,12}):(G[A-Z2-7]{55})$/.exec(name) ?? [];
  return code && issuer ? { code, issuer } : null;
}

function toSdkAsset({ code, issuer }: Asset): SdkAsset | null {
  const { Asset } = sdk();
  try {
    return issuer === null ? Asset.native() : new Asset(code, issuer);
  } catch {
    return null;
  }
}

const symbols = new Map<string, string>();
export function symbol(word: TokenEvent['type'] | 'fee'): string {
  const topic = symbols.get(word) ?? sdk().xdr.ScVal.scvSymbol(word).toXDR('base64');
  symbols.set(word, topic);
  return topic;
}
export const accountTopic = (address: string): string => sdk().Address.fromString(address).toScVal().toXDR('base64');

/** The parties among the topics, by the first topic. The asset is the last topic. */
const PARTIES: Readonly<Record<TokenEvent['type'], readonly ('from' | 'to')[]>> = {
  transfer: ['from', 'to'],
  mint: ['to'],
  burn: ['from'],
  clawback: ['from'],
};

const isType = (word: unknown): word is TokenEvent['type'] => typeof word === 'string' && Object.hasOwn(PARTIES, word);

/** The event if it is of an asset's own contract; null for every other event. @param topics ScVals
 *  as JSON, null for unreadable ones */
export function readTokenEvent(
  contractId: string | null,
  topics: readonly unknown[],
  contractIdOf: ContractIdOf,
): TokenEvent | null {
  const [type, name] = [inArm(topics[0], 'symbol'), inArm(topics.at(-1), 'string')];
  const parties = isType(type) ? PARTIES[type] : null;
  if (!parties || topics.length !== parties.length + 2 || typeof name !== 'string') return null;
  if (contractId === null || contractIdOf(name) !== contractId) return null;
  const event: TokenEvent = { type: type as TokenEvent['type'], from: null, to: null, asset: parseAsset(name)! };
  for (const [index, party] of parties.entries()) {
    const address = inArm(topics[index + 1], 'address');
    event[party] = typeof address === 'string' ? address : null;
  }
  return event;
}

/** The account that pays; null when no account pays. A payment by the issuer shows as a mint, which
 *  does not name the issuer among the parties. */
export function senderOf({ type, from, asset }: TokenEvent): string | null {
  const sender = type === 'mint' ? asset.issuer : from;
  return sender?.startsWith('G') ? sender : null;
}

/** The paid account or contract; null when neither is paid. A transfer to the asset's issuer shows
 *  as a burn. */
export function receiverOf({ type, to, asset }: TokenEvent): string | null {
  const receiver = type === 'burn' ? asset.issuer : to;
  return receiver && /^[GCW]/.test(receiver) ? receiver : null;
}
