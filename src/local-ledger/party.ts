/** An account as a transaction names it: the base address, and the muxed address if one
 *  was used. */
import { encodeMuxedAccountToAddress, StrKey, type xdr } from '@stellar/stellar-sdk/base';

export interface Party {
  id: string;
  muxed: { address: string; id: string } | null;
}

export function toParty(account: xdr.MuxedAccount): Party {
  if (account.type === 'keyTypeEd25519') return { id: accountAddress(account.ed25519), muxed: null };
  const { ed25519, id } = account.med25519;
  return {
    id: accountAddress(ed25519),
    muxed: { address: encodeMuxedAccountToAddress(account), id: id.toString() },
  };
}

export const toAddress = (account: xdr.AccountId): string => accountAddress(account.ed25519);

export const accountAddress = (key: xdr.Uint256Bytes): string => StrKey.encodeEd25519PublicKey(key.value);

/** `name`, and for a muxed party `name_muxed` and `name_muxed_id`; Horizon omits the id when it
 *  is 0. */
export function partyFields(name: string, party: Party, muxedName = name): Record<string, string> {
  if (party.muxed === null) return { [name]: party.id };
  return {
    [name]: party.id,
    [`${muxedName}_muxed`]: party.muxed.address,
    ...(party.muxed.id === '0' ? {} : { [`${muxedName}_muxed_id`]: party.muxed.id }),
  };
}
