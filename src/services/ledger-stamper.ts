/** Marks a moment as the ledger sees it, when a merchant changes what payments are judged by. */
import type { Network } from '../../contracts/networks.js';
import type { LedgerStamp } from '../domain/terms.js';

export interface LedgerStamper {
  /** Now. Never fails: without Horizon the stamp knows its time only. */
  stamp(network: Network): Promise<LedgerStamp>;
}
