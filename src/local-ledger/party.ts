/** An account as a transaction names it: the base address, and the muxed one where it was used. */
import { encodeMuxedAccountToAddress, StrKey, type xdr } from '@stellar/stellar-sdk/minimal';

export interface Party {
  id: string;
  muxed: { address: string; id: string } | null;
}

export function toParty(account: xdr.MuxedAccount): Party {
  if (account.switch().name === 'keyTypeEd25519') {
    return { id: StrKey.encodeEd25519PublicKey(account.ed25519()), muxed: null };
  }
  const { ed25519, id } = { ed25519: account.med25519().ed25519(), id: account.med25519().id().toString() };
  return {
    id: StrKey.encodeEd25519PublicKey(ed25519),
    muxed: { address: encodeMuxedAccountToAddress(account, true), id },
  };
}

export const toAddress = (account: xdr.AccountId): string => StrKey.encodeEd25519PublicKey(account.ed25519());

/** `name`, and for a muxed party `name_muxed` and `name_muxed_id`, which Horizon leaves out when the id is 0. */
export function partyFields(name: string, party: Party, muxedName = name): Record<string, string> {
  if (party.muxed === null) return { [name]: party.id };
  return {
    [name]: party.id,
    [`${muxedName}_muxed`]: party.muxed.address,
    ...(party.muxed.id === '0' ? {} : { [`${muxedName}_muxed_id`]: party.muxed.id }),
  };
}
