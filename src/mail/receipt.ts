/** The receipt of a paid checkout, in the payer's language and the shop's name. */

import { formatAmount } from '../domain/amount.js';
import type { Brand } from '../domain/brand.js';
import { sumsOf } from '../domain/order.js';
import { orderRows } from '../page/order-rows.js';
import { wordsOf } from '../page/words.js';
import type { CheckoutDoc } from '../selling/index.js';
import type { WalletDoc } from '../watching/index.js';
import type { Letter } from './letter.js';

interface ReceiptParts {
  checkout: CheckoutDoc;
  wallet: Pick<WalletDoc, 'address'>;
  brand: Brand;
  publicUrl: string;
}

export function receiptLetter({ checkout, wallet, brand, publicUrl }: ReceiptParts): Letter {
  const { name, quantity, reference, amount, price, currency, assetCode, paidAt, slug, language = 'en' } = checkout;
  const words = wordsOf(language);
  const { say } = words;
  const received = `${formatAmount(BigInt((currency === undefined ? checkout.received : checkout.paidIn) ?? 0))} ${assetCode}`;
  const amountOf = (of: string) => (currency === undefined ? `${of} ${assetCode}` : words.money(of, currency));
  const asked = amountOf((price ?? amount)!);
  const rows = orderRows(words, sumsOf(checkout)).map((row) => ({ name: row.name, value: amountOf(row.amount) }));
  const what = {
    name: say('what'),
    value: quantity !== null && quantity > 1 ? `${name} × ${words.number(quantity)}` : name,
  };
  const shop = brand.name ?? '';
  return {
    language,
    direction: words.direction,
    subject: [say('receipt'), name, shop].filter((part) => part !== '').join(' · '),
    heading: shop === '' ? say('receipt') : shop,
    intro: [say('mailPaid')],
    facts: [
      ...(rows.length > 0 ? rows : [what]),
      ...(reference === null ? [] : [{ name: say('reference'), value: reference }]),
      ...(rows.length > 0 ? [] : [{ name: say('amount'), value: asked }]),
      ...(received === asked ? [] : [{ name: say('received'), value: received }]),
      ...(paidAt === null ? [] : [{ name: say('paidAt'), value: words.time(paidAt) }]),
      { name: say('paidTo'), value: wallet.address },
      { name: say('orderId'), value: checkout._id },
    ],
    link: { text: say('mailReceipt'), url: `${publicUrl}/c/${slug}/receipt?lang=${language}` },
    closing: [askShop(words, brand), say('mailWhy')],
  };
}

function askShop({ say }: ReturnType<typeof wordsOf>, { name, supportUrl, supportEmail }: Brand): string {
  const contact = [supportUrl, supportEmail].filter((way) => way !== null).join(' · ');
  if (name === null) return contact === '' ? say('askMerchant') : say('askMerchantBy', { contact });
  return contact === '' ? say('ask', { name }) : say('askBy', { name, contact });
}
