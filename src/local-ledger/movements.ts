/** Movements of a transaction's operations, in terms of the events that Stellar RPC
 *  shows (CAP-67). */
import type { LedgerAsset } from './asset.js';

export type Movement =
  | {
      kind: 'transfer';
      /** G… or B… (a claimable balance); the issuer's side makes it a mint or a burn. */
      from: string;
      to: string;
      /** Id of a muxed destination, decimal. */
      toMuxedId: string | null;
      asset: LedgerAsset;
      amount: bigint;
      /** Whether the event shows the transaction's memo when the destination is not muxed. */
      showsMemo: boolean;
    }
  | { kind: 'clawback'; from: string; asset: LedgerAsset; amount: bigint }
  | { kind: 'set_authorized'; account: string; asset: LedgerAsset; isAuthorized: boolean };
