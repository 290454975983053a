/** Marks a moment as the ledger sees it, when a merchant changes what payments are judged by. */
import type { Network } from '../../contracts/networks.js';
import type { Mark } from '../domain/terms.js';

export interface Marks {
  /** Now. Never fails: without Horizon the mark knows its time only. */
  mark(network: Network): Promise<Mark>;
}
