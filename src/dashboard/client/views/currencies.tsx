/** Currencies: the currency of the account's books, its markup, and the rates of its prices. */
import { failureOf, type Output, useRead, useSession, useWrite } from '../api.js';
import { money } from '../format.js';
import { Ask, useCanWrite } from '../parts/act.js';
import { Badge, Code, Time } from '../parts/bits.js';
import { Field, Form, type Values } from '../parts/form.js';
import { type Column, Rows } from '../parts/list.js';
import { Page, Section, Shown } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { t } from '../texts/texts.js';
import { networkOptions } from '../words.js';

type Account = Output<'account.get'>;
type Rate = Output<'rates.list'>[number];

export function Currencies() {
  const account = useRead('account.get', {});
  const rates = useRead('rates.list', {});
  const canWrite = useCanWrite();
  return (
    <Page title={t('currencies')}>
      <Section title={t('rates')}>
        <Shown query={rates}>{(all) => <Rates rates={all} />}</Shown>
      </Section>
      {canWrite && (
        <Section title={t('ownRate')}>
          <p class="hint">{t('replacesRatesSourcesUntil')}</p>
          <OwnRate />
        </Section>
      )}
      <Section title={t('books')}>
        <Shown query={account}>{(data) => <Books account={data} />}</Shown>
      </Section>
    </Page>
  );
}

const COLUMNS: readonly Column<Rate>[] = [
  {
    title: t('ofAsset'),
    kind: 'main',
    cell: ({ assetCode, assetIssuer }) => (
      <>
        1 {assetCode} {assetIssuer && <Code text={assetIssuer} what={t('theIssuer')} />}
      </>
    ),
  },
  { title: t('network'), kind: 'wide', cell: ({ network }) => network },
  { title: t('asOf'), kind: 'wide', cell: ({ at }) => at && <Time at={at} /> },
  {
    title: t('source'),
    cell: ({ source, stale }) =>
      stale ? (
        <Badge label={t('noPrice')} tone="bad" />
      ) : source === 'own' ? (
        <Badge label={t('yours')} tone="good" />
      ) : (
        source
      ),
  },
  {
    title: t('rate'),
    kind: 'money',
    cell: ({ rate, currency }) => (
      <span class="money">{rate === null ? t('noneCurrency', { currency }) : money(rate, currency)}</span>
    ),
  },
];

function Rates({ rates }: { rates: readonly Rate[] }) {
  const end = useWrite('rates.delete');
  const canWrite = useCanWrite();
  const items = rates.map((rate) => ({ ...rate, id: Object.values(pairOf(rate)).join(' ') }));
  const actions: Column<Rate> = {
    title: t('actions'),
    kind: 'actions',
    cell: (rate) =>
      rate.source === 'own' && (
        <Ask
          label={t('end')}
          title={t('endRateAsk')}
          confirm={t('endIt')}
          write={end}
          input={pairOf(rate)}
          done={t('ratesSourcesApplyNow')}
        >
          <p>{t('nowPricesUseRates')}</p>
        </Ask>
      ),
  };
  return (
    <Rows
      title={t('rates')}
      columns={canWrite ? [...COLUMNS, actions] : COLUMNS}
      items={items}
      meta={{ page: 1, total: items.length, totalPages: 1, pageSize: items.length }}
      empty={t('noPricesCurrencyYet')}
      paged={false}
    />
  );
}

const pairOf = ({ currency, assetCode, assetIssuer, network }: Rate) => ({ currency, assetCode, assetIssuer, network });

function OwnRate() {
  const set = useWrite('rates.set');
  const networks = useSession().data?.networks ?? [];
  const submit = async (values: Values) => {
    try {
      await set.mutateAsync({
        currency: values.text('currency'),
        assetCode: values.text('assetCode'),
        assetIssuer: values.orNull('assetIssuer'),
        network: values.text('network') as Rate['network'],
        rate: values.text('rate'),
      });
      say(t('rateAppliesNow'));
    } catch {}
  };
  return (
    <Form
      submit={t('setRate')}
      isBusy={set.isPending}
      failure={set.error ? failureOf(set.error) : null}
      onSubmit={submit}
    >
      <Field name="assetCode" label={t('asset')} value="XLM" hint={t('codeWalletsShow')} />
      <Field
        name="assetIssuer"
        label={t('assetIssuer')}
        isOptional
        placeholder="G…"
        hint={t('issuersStellarAddressLumens')}
      />
      <Field name="network" label={t('network')} options={networkOptions(networks)} value={networks[0] ?? ''} />
      <Field name="currency" label={t('currency')} placeholder="EUR" hint={t('threeLetterCode')} />
      <Field name="rate" label={t('whatUnitAssetWorth')} inputMode="decimal" placeholder="0.25" />
    </Form>
  );
}

function Books({ account: { booksCurrency, rateMarkupPercent, tolerancePercent } }: { account: Account }) {
  const update = useWrite('account.update');
  const canWrite = useCanWrite();
  const submit = async (values: Values) => {
    try {
      await update.mutateAsync({
        booksCurrency: values.orNull('booksCurrency'),
        rateMarkupPercent: values.text('rateMarkupPercent'),
        tolerancePercent: values.text('tolerancePercent'),
      });
      say(t('saved'));
    } catch {}
  };
  if (!canWrite) {
    return (
      <p>
        {booksCurrency ? t('paymentsValuedBooksCurrency', { booksCurrency }) : t('paymentsNotValued')}{' '}
        {t('ratesLowered', { markup: rateMarkupPercent, tolerance: tolerancePercent })}
      </p>
    );
  }
  return (
    <Form
      submit={t('save')}
      isBusy={update.isPending}
      failure={update.error ? failureOf(update.error) : null}
      onSubmit={submit}
    >
      <Field
        name="booksCurrency"
        label={t('currencyBooks')}
        isOptional
        value={booksCurrency ?? ''}
        placeholder="EUR"
        hint={t('laterPaymentsValued')}
      />
      <Field
        name="rateMarkupPercent"
        label={t('markupRates')}
        inputMode="decimal"
        value={rateMarkupPercent}
        suffix="%"
        hint={t('markupHint')}
      />
      <Field
        name="tolerancePercent"
        label={t('toleranceNewProductsCheckouts')}
        inputMode="decimal"
        value={tolerancePercent}
        suffix="%"
        hint={t('toleranceHint')}
      />
    </Form>
  );
}
