/** The choice of an asset: lumens, assets that the wallet can receive, known assets, or any other
 *  by code and issuer. */
import { useState } from 'preact/hooks';
import { KNOWN_ASSETS } from '../../../../contracts/known-assets.js';
import { type Item, useRead } from '../api.js';
import { short } from '../format.js';
import { t } from '../texts/texts.js';
import type { Draft } from './draft.js';
import { Field } from './form.js';

const LUMENS = 'XLM';
const OTHER = 'other';

export interface Offered {
  assetCode: string;
  assetIssuer: string | null;
  name: string | null;
  domain: string | null;
  /** Whether the wallet can receive it now; null while unknown. */
  canReceive: boolean | null;
}

export const keyOf = ({ assetCode, assetIssuer }: Pick<Offered, 'assetCode' | 'assetIssuer'>) =>
  assetIssuer === null ? assetCode : `${assetCode}:${assetIssuer}`;

/** Assets that the wallet can receive come first. */
export function useOffered(wallet: Item<'wallets.list'> | undefined): Offered[] {
  const held = useRead(
    'wallets.assets',
    { id: wallet?.id ?? '' },
    { enabled: wallet !== undefined, keepPrevious: false, refetchInterval: false },
  ).data;
  const offered = new Map<string, Offered>();
  const add = (asset: Offered) => void (offered.has(keyOf(asset)) || offered.set(keyOf(asset), asset));
  add({
    assetCode: LUMENS,
    assetIssuer: null,
    name: t('lumens'),
    domain: null,
    canReceive: held ? held.length > 0 : null,
  });
  for (const { known, authorized, ...asset } of held ?? [])
    add({ ...asset, name: known?.name ?? null, domain: known?.domain ?? null, canReceive: authorized });
  for (const { network, ...known } of KNOWN_ASSETS)
    if (network === wallet?.network) add({ ...known, canReceive: held ? false : null });
  return [...offered.values()];
}

const labelOf = ({ assetCode, assetIssuer, name, domain, canReceive }: Offered): string => {
  const what = [name, domain ?? (assetIssuer && short(assetIssuer))].filter(Boolean).join(', ');
  return `${assetCode} (${what})${canReceive === false ? t('walletCannotReceiveYet') : ''}`;
};

/** The fields `assetCode` and `assetIssuer` of a form. @param value the stored asset; lumens
 *  by default */
export function AssetFields({
  walletId,
  value,
  draft,
  onCode,
}: {
  walletId: string;
  value?: Pick<Offered, 'assetCode' | 'assetIssuer'> | undefined;
  draft: Draft;
  onCode: (code: string) => void;
}) {
  const wallet = useRead('wallets.get', { id: walletId }, { enabled: walletId !== '', keepPrevious: false }).data;
  const offered = useOffered(wallet);
  const stored = value ? keyOf(value) : LUMENS;
  const [chosen, choose] = useState(draft.first('asset') ?? stored);
  const [typed, setTyped] = useState(draft.first('assetCode') ?? '');
  const options = [
    ...offered.map((asset) => [keyOf(asset), labelOf(asset)] as const),
    ...(value && !offered.some((asset) => keyOf(asset) === stored)
      ? [[stored, `${value.assetCode} (${short(value.assetIssuer ?? '')})`] as const]
      : []),
    [OTHER, t('anotherAsset')] as const,
  ];
  const asset = offered.find((each) => keyOf(each) === chosen);
  const [code = '', issuer = ''] = chosen.split(':');
  const pick = (key: string) => {
    choose(key);
    onCode(key === OTHER ? typed : (key.split(':')[0] ?? ''));
  };
  return (
    <>
      <Field
        name="asset"
        label={t('asset')}
        options={options}
        value={chosen}
        onInput={pick}
        hint={t('assetCustomersPay')}
        {...(chosen === OTHER ? {} : { alsoOf: ['assetCode', 'assetIssuer'] })}
      />
      {asset?.canReceive === false && (
        <p class="callout">
          {asset.assetIssuer === null
            ? t('walletsAccountNotLedger')
            : t('walletCannotReceiveAssetCode', { assetCode: asset.assetCode })}
        </p>
      )}
      {chosen === OTHER ? (
        <OtherAsset
          code={typed}
          onCode={(text) => {
            setTyped(text);
            onCode(text);
          }}
        />
      ) : (
        <>
          <input type="hidden" name="assetCode" value={code} />
          <input type="hidden" name="assetIssuer" value={issuer} />
        </>
      )}
    </>
  );
}

const OtherAsset = ({ code, onCode }: { code: string; onCode: (code: string) => void }) => (
  <>
    <Field name="assetCode" label={t('assetCode')} hint={t('walletsShowUsdc')} value={code} onInput={onCode} />
    <Field name="assetIssuer" label={t('assetIssuer')} placeholder="G…" hint={t('issuersStellarAddressPublished')} />
  </>
);
