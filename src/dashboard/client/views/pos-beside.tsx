/** At the till: the amount in the asset, beside a price in a currency. */
import { useEffect, useState } from 'preact/hooks';
import { failureOf, type Item, useRead, useSession } from '../api.js';
import { grouped } from '../format.js';
import type { Offered } from '../parts/asset.js';

/** Pause after the last key before the amount is requested. */
const REST_MS = 400;
const QUOTE_MS = 15_000;

/** Cashiers may not read rates and see the amount with the code instead. */
export function Beside({
  currency,
  price,
  asset,
  wallet,
}: {
  currency: string;
  price: string;
  asset: Offered | undefined;
  wallet: Item<'wallets.list'> | undefined;
}) {
  const mayAsk = useSession().data?.may.includes('rates.quote') ?? false;
  const rested = useRested(price);
  const query = {
    ...{ currency, price: rested, network: wallet?.network ?? 'PUBLIC' },
    ...{ assetCode: asset?.assetCode ?? 'XLM', ...(asset?.assetIssuer ? { assetIssuer: asset.assetIssuer } : {}) },
  };
  const isAsked = mayAsk && wallet !== undefined && asset !== undefined && Number(rested) > 0;
  const quote = useRead('rates.quote', query, { enabled: isAsked, keepPrevious: false, refetchInterval: QUOTE_MS });
  const { amount } = quote.data ?? {};
  const isShown = isAsked && rested === price;
  return (
    <p class="till-beside">
      {isShown && quote.error && failureOf(quote.error).message}
      {isShown && amount && `${grouped(amount)} ${asset.assetCode}`}
    </p>
  );
}

function useRested(text: string): string {
  const [rested, setRested] = useState(text);
  useEffect(() => {
    const timer = setTimeout(setRested, REST_MS, text);
    return () => clearTimeout(timer);
  }, [text]);
  return rested;
}
