/** Currencies: the currency of the account's books, its markup, and the rates of its prices. */
import { failureOf, type Output, useRead, useSession, useWrite } from '../api.js';
import { money } from '../format.js';
import { Ask, useCanWrite } from '../parts/act.js';
import { Badge, Code, Time } from '../parts/bits.js';
import { Field, Form, type Values } from '../parts/form.js';
import { type Column, Rows } from '../parts/list.js';
import { Page, Section, Shown } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { networkOptions } from '../words.js';

type Account = Output<'account.get'>;
type Rate = Output<'rates.list'>[number];

export function Currencies() {
  const account = useRead('account.get', {});
  const rates = useRead('rates.list', {});
  const canWrite = useCanWrite();
  return (
    <Page title="Currencies">
      <Section title="Rates">
        <Shown query={rates}>{(all) => <Rates rates={all} />}</Shown>
      </Section>
      {canWrite && (
        <Section title="Your own rate">
          <p class="hint">It replaces the rates of the sources until you end it. Your markup does not lower it.</p>
          <OwnRate />
        </Section>
      )}
      <Section title="Books">
        <Shown query={account}>{(data) => <Books account={data} />}</Shown>
      </Section>
    </Page>
  );
}

const COLUMNS: readonly Column<Rate>[] = [
  {
    title: 'Of',
    kind: 'main',
    cell: ({ assetCode, assetIssuer }) => (
      <>
        1 {assetCode} {assetIssuer && <Code text={assetIssuer} what="the issuer" />}
      </>
    ),
  },
  { title: 'Network', kind: 'wide', cell: ({ network }) => network },
  { title: 'As of', kind: 'wide', cell: ({ at }) => at && <Time at={at} /> },
  {
    title: 'Source',
    cell: ({ source, stale }) =>
      stale ? <Badge label="No price" tone="bad" /> : source === 'own' ? <Badge label="Yours" tone="good" /> : source,
  },
  {
    title: 'Rate',
    kind: 'money',
    cell: ({ rate, currency }) => (
      <span class="money">{rate === null ? `none in ${currency}` : money(rate, currency)}</span>
    ),
  },
];

function Rates({ rates }: { rates: readonly Rate[] }) {
  const end = useWrite('rates.delete');
  const canWrite = useCanWrite();
  const items = rates.map((rate) => ({ ...rate, id: Object.values(pairOf(rate)).join(' ') }));
  const actions: Column<Rate> = {
    title: 'Actions',
    kind: 'actions',
    cell: (rate) =>
      rate.source === 'own' && (
        <Ask
          label="End"
          title="End your rate?"
          confirm="End it"
          write={end}
          input={pairOf(rate)}
          done="The rates of the sources apply from now on."
        >
          <p>From now on, prices use the rates of the sources. If no source answers, there is no price.</p>
        </Ask>
      ),
  };
  return (
    <Rows
      title="Rates"
      columns={canWrite ? [...COLUMNS, actions] : COLUMNS}
      items={items}
      meta={{ page: 1, total: items.length, totalPages: 1, pageSize: items.length }}
      empty="No prices in a currency yet."
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
      say('Your rate applies from now on.');
    } catch {}
  };
  return (
    <Form
      submit="Set the rate"
      isBusy={set.isPending}
      failure={set.error ? failureOf(set.error) : null}
      onSubmit={submit}
    >
      <Field name="assetCode" label="Asset" value="XLM" hint="The code, as wallets show it." />
      <Field
        name="assetIssuer"
        label="Asset issuer"
        isOptional
        placeholder="G…"
        hint="The issuer’s Stellar address. Lumens (XLM) have none."
      />
      <Field name="network" label="Network" options={networkOptions(networks)} value={networks[0] ?? ''} />
      <Field name="currency" label="Currency" placeholder="EUR" hint="A three-letter code." />
      <Field name="rate" label="What one unit of the asset is worth" inputMode="decimal" placeholder="0.25" />
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
      say('Saved.');
    } catch {}
  };
  if (!canWrite) {
    return (
      <p>
        {booksCurrency ? `Payments are valued in ${booksCurrency}.` : 'Payments are not valued.'} Rates are lowered by{' '}
        {rateMarkupPercent} %. New products and checkouts have a tolerance of {tolerancePercent} %.
      </p>
    );
  }
  return (
    <Form
      submit="Save"
      isBusy={update.isPending}
      failure={update.error ? failureOf(update.error) : null}
      onSubmit={submit}
    >
      <Field
        name="booksCurrency"
        label="Currency of your books"
        isOptional
        value={booksCurrency ?? ''}
        placeholder="EUR"
        hint="Later payments are valued in it."
      />
      <Field
        name="rateMarkupPercent"
        label="Markup on rates"
        inputMode="decimal"
        value={rateMarkupPercent}
        suffix="%"
        hint="From 0 to 20: prices in a currency ask for that much more of the asset."
      />
      <Field
        name="tolerancePercent"
        label="Tolerance of new products and checkouts"
        inputMode="decimal"
        value={tolerancePercent}
        suffix="%"
        hint="From 0 to 5: how much less is enough, such as when an exchange deducts a fee."
      />
    </Form>
  );
}
