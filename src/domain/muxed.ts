/** Muxed accounts (SEP-23): a base account together with an id of 64 bits, written as one M… address. */
import { Account, MuxedAccount, StrKey } from '@stellar/stellar-sdk/minimal';

export interface Muxed {
  /** M… */
  address: string;
  /** G… */
  account: string;
  /** Decimal text. */
  id: string;
}

/** The parts of an M… address; null for anything else. */
export function parseMuxed(text: string): Muxed | null {
  if (!StrKey.isValidMed25519PublicKey(text)) return null;
  const muxed = MuxedAccount.fromAddress(text, '0');
  return { address: text, account: muxed.baseAccount().accountId(), id: muxed.id() };
}

/** @param account G… @param id decimal text of an unsigned 64-bit integer. @returns M… */
export const muxedAddressOf = (account: string, id: string): string =>
  new MuxedAccount(new Account(account, '0'), id).accountId();
