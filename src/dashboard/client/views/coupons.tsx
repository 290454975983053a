/** Coupons: their list, and the form that makes and changes one. */
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { usePage, useParam } from '../address.js';
import { failureOf, type Item, useRead, useWrite } from '../api.js';
import { localTime, momentOf } from '../format.js';
import { Delete, Toggle, useMay } from '../parts/act.js';
import { AssetFields } from '../parts/asset.js';
import { Code, Facts, LinkButton, Money, Time } from '../parts/bits.js';
import { useChanges } from '../parts/changes.js';
import { type Draft, useDraft } from '../parts/draft.js';
import { Search, Select } from '../parts/filters.js';
import { Choice, Field, Form, type Values } from '../parts/form.js';
import { type Column, List } from '../parts/list.js';
import { Loaded, Page, Section } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { t, wholeNumber } from '../texts/texts.js';

type Coupon = Item<'coupons.list'>;

const BACK = { href: '/coupons', label: t('coupons') };

/** What it takes off. */
const Gives = ({ percentOff, amountOff, currency, assetCode }: Coupon) =>
  percentOff === null ? <Money amount={amountOff!} code={assetCode ?? ''} currency={currency} /> : `${percentOff} %`;

const redeemed = ({ redemptions, maxRedemptions }: Coupon): string =>
  maxRedemptions === null ? wholeNumber(redemptions) : t('redeemedOf', { redemptions, most: maxRedemptions });

function CouponSwitch({ coupon: { id, code, active } }: { coupon: Coupon }) {
  const { mutateAsync } = useWrite('coupons.update');
  return <Toggle what={t('takeTheCoupon', { code })} isOn={active} set={(isOn) => mutateAsync({ id, active: isOn })} />;
}

const COLUMNS: readonly Column<Coupon>[] = [
  { title: t('couponCode'), kind: 'main', cell: ({ code }) => <bdi>{code}</bdi> },
  { title: t('redeemed'), kind: 'wide', cell: redeemed },
  { title: t('validUntil'), kind: 'wide', cell: ({ endsAt }) => endsAt && <Time at={endsAt} /> },
  { title: t('state'), cell: (coupon) => <CouponSwitch coupon={coupon} /> },
  { title: t('takesOff'), kind: 'money', cell: (coupon) => <Gives {...coupon} /> },
];

const STATES = [
  ['', t('onAndOff')],
  ['true', t('on')],
  ['false', t('off')],
] as const;

export function Coupons() {
  const [code] = useParam('code');
  const [active] = useParam('active');
  const mayCreate = useMay('coupons.create');
  const coupons = useRead('coupons.list', {
    page: usePage(),
    ...(code && { code }),
    ...((active === 'true' || active === 'false') && { active: active === 'true' }),
  });
  return (
    <Page
      title={t('coupons')}
      actions={
        mayCreate && (
          <LinkButton href="/coupons/new" icon="plus">
            {t('newCoupon')}
          </LinkButton>
        )
      }
    >
      <div class="grid">
        <Search name="code" label={t('wholeCode')} />
        <Select name="active" label={t('state')} options={STATES} />
      </div>
      <List
        title={t('coupons')}
        query={coupons}
        columns={COLUMNS}
        href={({ id }) => `/coupons/${id}`}
        empty={code || active ? t('noCouponsMatch') : t('noCouponsYet')}
      />
    </Page>
  );
}

export function Coupon({ id }: { id: string }) {
  const coupon = useRead('coupons.get', { id }, { keepPrevious: false });
  return (
    <Loaded query={coupon} title={t('coupon')} back={BACK}>
      {(data) => <Details coupon={data} />}
    </Loaded>
  );
}

function Details({ coupon }: { coupon: Coupon }) {
  const { id, code, productIds, minSubtotal, currency, assetCode, startsAt, endsAt } = coupon;
  const mayChange = useMay('coupons.update');
  const remove = useWrite('coupons.delete');
  return (
    <Page title={code} about={id} back={BACK} badge={<CouponSwitch coupon={coupon} />}>
      <Facts
        facts={[
          [t('takesOff'), <Gives key="gives" {...coupon} />],
          [t('redeemed'), redeemed(coupon)],
          [t('products'), productIds && wholeNumber(productIds.length)],
          [
            t('leastSubtotal'),
            minSubtotal && <Money amount={minSubtotal} code={assetCode ?? ''} currency={currency} />,
          ],
          [t('validFrom'), startsAt && <Time at={startsAt} exact />],
          [t('validUntil'), endsAt && <Time at={endsAt} exact />],
          [t('couponId'), <Code key="id" text={id} what={t('theCouponsId')} whole />],
        ]}
      />
      {mayChange && (
        <Section title={t('change')}>
          <CouponForm coupon={coupon} />
        </Section>
      )}
      {mayChange && (
        <Section title={t('delete')}>
          {coupon.redemptions > 0 ? (
            <p class="hint">{t('redeemedCannotDeleted')}</p>
          ) : (
            <Delete label={t('deleteTheCoupon')} name={code} id={id} write={remove} to="/coupons">
              <p>{t('noOrderHasIt')}</p>
            </Delete>
          )}
        </Section>
      )}
    </Page>
  );
}

export const NewCoupon = () => (
  <Page title={t('newCoupon')} back={BACK}>
    <CouponForm coupon={null} />
  </Page>
);

const KINDS = [
  { value: 'percent', label: t('aPercentage') },
  { value: 'amount', label: t('anAmount') },
];

const NO_ASSET = { assetCode: null, assetIssuer: null };

/** What amounts are in without a currency. A percentage's has no field here, and stays. */
function assetOf(values: Values, kind: string, before: Coupon | null): Pick<Coupon, 'assetCode' | 'assetIssuer'> {
  if (values.text('currency')) return NO_ASSET;
  if (kind === 'amount') return { assetCode: values.orNull('assetCode'), assetIssuer: values.orNull('assetIssuer') };
  const { assetCode, assetIssuer } = before?.percentOff ? before : NO_ASSET;
  return { assetCode, assetIssuer };
}

/** @param before null for a new one */
const fieldsOf = (values: Values, kind: string, before: Coupon | null) => ({
  code: values.text('code'),
  percentOff: kind === 'percent' ? values.orNull('percentOff') : null,
  amountOff: kind === 'amount' ? values.orNull('amountOff') : null,
  currency: values.orNull('currency'),
  ...assetOf(values, kind, before),
  productIds: values.all('productIds').length > 0 ? values.all('productIds') : null,
  minSubtotal: values.orNull('minSubtotal'),
  startsAt: momentOf(values.text('startsAt'), before?.startsAt),
  endsAt: momentOf(values.text('endsAt'), before?.endsAt),
  maxRedemptions: values.text('maxRedemptions') === '' ? null : Number(values.text('maxRedemptions')),
});

function CouponForm({ coupon: now }: { coupon: Coupon | null }) {
  const create = useWrite('coupons.create');
  const update = useWrite('coupons.update');
  const write = now ? update : create;
  const { first: coupon, save } = useChanges(now, (changes: Partial<ReturnType<typeof fieldsOf>>) =>
    update.mutateAsync({ id: now!.id, ...changes }),
  );
  const draft = useDraft(`coupon:${coupon?.id ?? 'new'}`);
  const [kind, setKind] = useState(draft.first('kind') ?? (coupon?.amountOff ? 'amount' : 'percent'));
  const [, navigate] = useLocation();
  const submit = async (values: Values) => {
    try {
      const fields = fieldsOf(values, kind, coupon);
      const saved = coupon ? await save(fields) : await create.mutateAsync(fields);
      draft.forget();
      say(coupon ? t('saved') : t('nameCreated', { name: saved.code }));
      if (!coupon) navigate(`/coupons/${saved.id}`);
    } catch {}
  };
  return (
    <Form
      submit={coupon ? t('save') : t('createTheCoupon')}
      isBusy={write.isPending}
      failure={write.error ? failureOf(write.error) : null}
      onSubmit={submit}
      draft={draft}
    >
      <Field name="code" label={t('couponCode')} value={coupon?.code ?? ''} hint={t('couponCodeHint')} />
      <Choice name="kind" legend={t('takesOff')} type="radio" value={[kind]} options={KINDS} onInput={setKind} />
      <OffFields coupon={coupon} isPercent={kind === 'percent'} draft={draft} />
      <ProductsField chosen={coupon?.productIds ?? []} draft={draft} />
      <Field
        name="minSubtotal"
        label={t('leastSubtotal')}
        isOptional
        inputMode="decimal"
        value={coupon?.minSubtotal ?? ''}
        hint={t('leastSubtotalHint')}
      />
      <Field
        name="startsAt"
        label={t('validFrom')}
        isOptional
        type="datetime-local"
        value={localTime(coupon?.startsAt)}
      />
      <Field name="endsAt" label={t('validUntil')} isOptional type="datetime-local" value={localTime(coupon?.endsAt)} />
      <Field
        name="maxRedemptions"
        label={t('mostRedemptions')}
        isOptional
        type="number"
        inputMode="numeric"
        value={coupon?.maxRedemptions?.toString() ?? ''}
        hint={t('mostRedemptionsHint')}
      />
    </Form>
  );
}

function OffFields({ coupon, isPercent, draft }: { coupon: Coupon | null; isPercent: boolean; draft: Draft }) {
  const [currency, setCurrency] = useState(draft.first('currency') ?? coupon?.currency ?? '');
  const [code, setCode] = useState(draft.first('assetCode') ?? coupon?.assetCode ?? 'XLM');
  const unit = currency.trim();
  const stored = coupon?.assetCode ? { assetCode: coupon.assetCode, assetIssuer: coupon.assetIssuer } : undefined;
  return (
    <>
      {isPercent ? (
        <Field
          name="percentOff"
          label={t('percentageOff')}
          inputMode="decimal"
          value={coupon?.percentOff ?? ''}
          suffix="%"
        />
      ) : (
        <Field
          name="amountOff"
          label={t('amountOff')}
          inputMode="decimal"
          value={coupon?.amountOff ?? ''}
          suffix={unit || code}
        />
      )}
      <Field
        name="currency"
        label={t('currency')}
        isOptional
        value={currency}
        onInput={setCurrency}
        placeholder="EUR"
        hint={isPercent ? t('couponCurrencyOfPercent') : t('couponCurrencyHint')}
      />
      {!isPercent && unit === '' && <AssetFields walletId="" value={stored} draft={draft} onCode={setCode} />}
    </>
  );
}

const MOST_PRODUCTS = 100;

/** The newest products, and those that it has or was given. These are there before the list comes,
 *  and where it does not: a coupon that lost them would be taken for every product. */
function ProductsField({ chosen, draft }: { chosen: readonly string[]; draft: Draft }) {
  const { data, isPending } = useRead('products.list', { pageSize: MOST_PRODUCTS });
  const names = new Map(data?.items.map(({ id, name }) => [id, name]));
  const ids = new Set([...chosen, ...(draft.all().productIds ?? []), ...names.keys()]);
  const options = [...ids].map((id) => ({ value: id, label: names.get(id) ?? (isPending ? '…' : id) }));
  if (options.length === 0) return null;
  return <Choice name="productIds" legend={t('couponProducts')} type="checkbox" value={chosen} options={options} />;
}
