/** What customers see of the shop on pages, receipts and posters, with a preview. */
import { useState } from 'preact/hooks';
import { buttonColors } from '../../../domain/brand.js';
import { failureOf, type Output, useRead, useWrite } from '../api.js';
import { useDraft } from '../parts/draft.js';
import { Field, Form, type Values } from '../parts/form.js';
import { Page, Shown } from '../parts/page.js';
import { say } from '../parts/toast.js';

type Account = Output<'account.get'>;
type Brand = Account['brand'];

export function Shop() {
  const account = useRead('account.get', {});
  return (
    <Page title="Your shop">
      <p class="lead">What customers see of it on payment pages, receipts and posters.</p>
      <Shown query={account}>{(data) => <BrandForm account={data} />}</Shown>
    </Page>
  );
}

/** Fields of the form, named as the API's faults are. */
const FIELDS = {
  name: { label: 'Name', hint: 'Without one, customers see the name of the account.' },
  logoUrl: {
    label: 'Logo URL',
    placeholder: 'https://…',
    inputMode: 'url',
    hint: 'A picture on the web; customers’ browsers load it from there.',
  },
  color: { label: 'Colour of the main button', placeholder: '#1b6e4b', hint: 'As #rrggbb.' },
  supportUrl: {
    label: 'Support page',
    placeholder: 'https://…',
    inputMode: 'url',
    hint: 'Where customers can ask about a payment that was refused.',
  },
  supportEmail: { label: 'Support e-mail', placeholder: 'help@shop.example', hint: 'The same, by e-mail.' },
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
      say('Saved.');
    } catch {}
  };
  return (
    <div class="beside">
      <Form
        submit="Save"
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
    <figure class="preview" aria-label="Preview">
      <figcaption class="hint">Preview</figcaption>
      <p class="preview-shop">
        {/* The page loads pictures over https alone, as payers' pages do. */}
        {logoUrl && /^https:/i.test(logoUrl) && <Logo key={logoUrl} url={logoUrl} />}
        <strong>
          <bdi>{name ?? account}</bdi>
        </strong>
      </p>
      <p class="preview-amount">25 XLM</p>
      <span class="button" {...(colors && { style: { backgroundColor: colors.background, color: colors.text } })}>
        Open in a wallet
      </span>
      {(supportUrl ?? supportEmail) && (
        <p class="hint">
          Questions? <bdi>{[supportUrl, supportEmail].filter(Boolean).join(' · ')}</bdi>
        </p>
      )}
    </figure>
  );
}

function Logo({ url }: { url: string }) {
  const [isBroken, setBroken] = useState(false);
  if (isBroken) return <span class="problem">No picture at this URL.</span>;
  return <img src={url} alt="The logo" onError={() => setBroken(true)} />;
}
