/** Payers other than plain accounts: customers of one exchange, and contracts; and transactions
 *  with two hashes. */
import { Keypair, StrKey } from '@stellar/stellar-sdk';
import type { Sending } from './chain.js';
import type { Random } from './random.js';

export const EXCHANGE = Keypair.fromRawEd25519Seed(Buffer.alloc(32, 60)).publicKey();
const CONTRACTS = [1, 2].map((n) => StrKey.encodeContract(Buffer.alloc(32, 60 + n)));
/** Its customers; null for the exchange itself. */
export const CUSTOMERS = ['7', '8', '7', '8', null] as const;

/** Payer and form of a payment, the same for all operations of a transaction. */
export type Payer = Pick<Sending, 'payer' | 'payerId' | 'isFeeBump'> & { shape?: 'fromContract' };

/** @param mayCall whether the transaction has one operation, so that a contract can pay it */
export function drawPayer(random: Random, mayCall: boolean): Payer {
  const isFeeBump = random.chance(0.3);
  const draw = random.next();
  if (draw < 0.5) return { payer: EXCHANGE, payerId: random.pick(CUSTOMERS), isFeeBump };
  if (draw < 0.7 && mayCall) return { payer: random.pick(CONTRACTS), shape: 'fromContract', isFeeBump };
  return { isFeeBump };
}
