/** A market on the local ledger, so that a demo can be paid in another asset than it asks for: test USDC and EURC, and an account that trades both for lumens
 *  at the demo source's rate. `cli ledger issue` gives some to any account. */
import type { LedgerClient } from '../local-ledger/index.js';

const CODES = ['USDC', 'EURC'];
/** Units of either asset for a lumen: the market maker's ask and bid. */
const ASKED = '0.251';
/** The same in lumens for a unit. */
const ASKED_IN_LUMENS = '4.016';
const ISSUED = '100000';
const LUMENS_FOR_SALE = '4000';
const ASSETS_FOR_SALE = '20000';

/** @param walletSecret of the demo's wallet, which can then receive both */
export async function openMarket(client: LedgerClient, walletSecret: string): Promise<void> {
  const { secret } = await client.fund();
  await Promise.all(
    CODES.map(async (code) => {
      const { assetCode, assetIssuer } = await client.issue({ code, amount: ISSUED, toSecret: secret });
      const asset = { code: assetCode, issuer: assetIssuer };
      await client.trust({ secret: walletSecret, assetCode, assetIssuer });
      await client.offer({ secret, selling: null, buying: asset, amount: LUMENS_FOR_SALE, price: ASKED });
      await client.offer({ secret, selling: asset, buying: null, amount: ASSETS_FOR_SALE, price: ASKED_IN_LUMENS });
    }),
  );
}
