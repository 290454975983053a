/** What customers see of the shop on pages, receipts and posters, with a preview. */
import { useState } from 'preact/hooks';
import { buttonColors } from '../../../domain/brand.js';
import { failureOf, type Output, useRead, useWrite } from '../api.js';
import { Toggle } from '../parts/act.js';
import { Facts } from '../parts/bits.js';
import { useDraft } from '../parts/draft.js';
import { Field, Form, type Values } from '../parts/form.js';
import { Page, Section, Shown } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { t } from '../texts/texts.js';

type Account = Output<'account.get'>;
type Brand = Account['brand'];

export function Shop() {
  const account = useRead('account.get', {});
  return (
    <Page title={t('yourShop')}>
      <p class="lead">{t('whatCustomersSeePayment')}</p>
      <Shown query={account}>{(data) => <BrandForm account={data} />}</Shown>
      <Section title={t('pointOfSale')}>
        <Shown query={account}>
          {(data) => (
            <ListForm
              account={data}
              name="tipPercents"
              label={t('tipsTill')}
              hint={t('tipsTillHint')}
              most={10}
              between={/[\s%;]+/}
            />
          )}
        </Shown>
      </Section>
      <Section title={t('inYourPages')}>
        <Shown query={account}>
          {(data) => (
            <ListForm
              account={data}
              name="embedOrigins"
              label={t('embedOrigins')}
              hint={t('embedOriginsHint')}
              most={20}
              between={/\s+/}
              isLong
            />
          )}
        </Shown>
      </Section>
      <Section title={t('overview')}>
        <Shown query={account}>{(data) => <FirstSteps account={data} />}</Shown>
      </Section>
    </Page>
  );
}

/** Whether the overview shows them, until all are done. */
function FirstSteps({ account: { onboarding } }: { account: Account }) {
  const update = useWrite('account.update');
  const set = (isOn: boolean) => update.mutateAsync({ onboarding: isOn ? 'shown' : 'hidden' });
  const toggle = <Toggle what={t('firstSteps')} isOn={onboarding === 'shown'} set={set} />;
  return <Facts facts={[[t('firstSteps'), toggle]]} />;
}

/** Fields of the form, named as the API's faults are. */
const FIELDS = {
  name: { label: t('name'), hint: t('withoutCustomersSeeName') },
  logoUrl: {
    label: t('logoUrl'),
    placeholder: 'https://…',
    inputMode: 'url',
    hint: t('pictureWebCustomersBrowsers'),
  },
  color: { label: t('colourMainButton'), placeholder: '#1b6e4b', hint: t('asRrggbb') },
  supportUrl: {
    label: t('supportPage'),
    placeholder: 'https://…',
    inputMode: 'url',
    hint: t('whereCustomersCanAsk'),
  },
  supportEmail: { label: t('supportEMail'), placeholder: 'help@shop.example', hint: t('sameEMail') },
} as const;
const NAMES = Object.keys(FIELDS) as (keyof Brand)[];

function BrandForm({ account: { name, brand } }: { account: Account }) {
  const update = useWrite('account.update');
  const draft = useDraft('shop');
  const [typed, setTyped] = useState<Brand>(() => brandOf((field) => draft.first(`brand.${field}`) ?? brand[field]));
  const submit = async (values: Values) => {
    try {
      await update.mutateAsync({ brand: brandOf((field) => values.orNull(`brand.${field}`)) });
      draft.forget();
      say(t('saved'));
    } catch {}
  };
  return (
    <div class="beside">
      <Form
        submit={t('save')}
        isBusy={update.isPending}
        failure={update.error ? failureOf(update.error) : null}
        onSubmit={submit}
        draft={draft}
      >
        {NAMES.map((field) => (
          <Field
            key={field}
            name={`brand.${field}`}
            {...FIELDS[field]}
            isOptional
            value={brand[field] ?? ''}
            onInput={(text) => setTyped((before) => ({ ...before, [field]: text.trim() || null }))}
          />
        ))}
      </Form>
      <Preview brand={typed} account={name} />
    </div>
  );
}

const brandOf = (value: (field: keyof Brand) => string | null): Brand => ({
  name: value('name'),
  logoUrl: value('logoUrl'),
  color: value('color'),
  supportUrl: value('supportUrl'),
  supportEmail: value('supportEmail'),
});

function Preview({
  brand: { name, logoUrl, color, supportUrl, supportEmail },
  account,
}: {
  brand: Brand;
  account: string;
}) {
  // A colour that is still being typed is none.
  const colors = color && /^#[0-9a-f]{6}$/i.test(color) ? buttonColors(color) : null;
  return (
    <figure class="preview" aria-label={t('preview')}>
      <figcaption class="hint">{t('preview')}</figcaption>
      <p class="preview-shop">
        {/* The page loads pictures over https alone, as payers' pages do. */}
        {logoUrl && /^https:/i.test(logoUrl) && <Logo key={logoUrl} url={logoUrl} />}
        <strong>
          <bdi>{name ?? account}</bdi>
        </strong>
      </p>
      <p class="preview-amount">25 XLM</p>
      <span class="button" {...(colors && { style: { backgroundColor: colors.background, color: colors.text } })}>
        {t('openWallet')}
      </span>
      {(supportUrl ?? supportEmail) && (
        <p class="hint">
          {t('questionsAsk')} <bdi>{[supportUrl, supportEmail].filter(Boolean).join(' · ')}</bdi>
        </p>
      )}
    </figure>
  );
}

function Logo({ url }: { url: string }) {
  const [isBroken, setBroken] = useState(false);
  if (isBroken) return <span class="problem">{t('noPictureUrl')}</span>;
  return <img src={url} alt={t('logo')} onError={() => setBroken(true)} />;
}

interface ListFormProps {
  account: Account;
  name: 'tipPercents' | 'embedOrigins';
  label: string;
  hint: string;
  /** The most entries. */
  most: number;
  /** What stands between what is typed. */
  between: RegExp;
  isLong?: true;
}

/** A list of the account, typed as one text. */
function ListForm({ account, name, most, between, ...field }: ListFormProps) {
  const update = useWrite('account.update');
  const submit = async (values: Values) => {
    try {
      await update.mutateAsync({ [name]: values.text(name).split(between).filter(Boolean) });
      say(t('saved'));
    } catch {}
  };
  return (
    <Form
      submit={t('save')}
      isBusy={update.isPending}
      failure={update.error ? failureOf(update.error) : null}
      onSubmit={submit}
    >
      <Field
        {...field}
        name={name}
        isOptional
        value={account[name].join(field.isLong ? '\n' : ' ')}
        alsoOf={Array.from({ length: most }, (_, n) => `${name}.${n}`)}
      />
    </Form>
  );
}
