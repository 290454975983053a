/** One payment link: its name, its URL, its codes. */
import { Link as To, useLocation } from 'wouter-preact';
import { failureOf, type Item, useRead, useWrite } from '../api.js';
import { plural } from '../format.js';
import { Ask, useCanWrite } from '../parts/act.js';
import { Code, Copy, Facts, Outside } from '../parts/bits.js';
import { Field, Form } from '../parts/form.js';
import { List } from '../parts/list.js';
import { Loaded, Page, Section } from '../parts/page.js';
import { QrBlock } from '../parts/qr-block.js';
import { say } from '../parts/toast.js';
import { LinkSwitch } from './links.js';
import { PAYMENT_COLUMNS } from './payments.js';
import { Price } from './products.js';

type PaymentLink = Item<'paymentLinks.list'>;

const BACK = { href: '/links', label: 'Payment links' };

const useInstructions = ({ id, active }: PaymentLink) =>
  useRead('paymentLinks.instructions', { id }, { enabled: active });
type Instructions = Pick<ReturnType<typeof useInstructions>, 'data' | 'error'>;

export function Link({ id }: { id: string }) {
  const link = useRead('paymentLinks.get', { id }, { keepPrevious: false });
  return (
    <Loaded query={link} title="Payment link" back={BACK}>
      {(data) => <Details link={data} />}
    </Loaded>
  );
}

function Details({ link }: { link: PaymentLink }) {
  const { id, url, product } = link;
  const canWrite = useCanWrite();
  const instructions = useInstructions(link);
  const payments = useRead('payments.list', { paymentLinkId: id, pageSize: 10 });
  return (
    <Page
      title={`Link for ${product.name}`}
      about={id}
      back={BACK}
      badge={<LinkSwitch link={link} />}
      actions={
        <>
          <Copy text={url} what="the URL" label="Copy the URL" />
          <a class="button plain" href={`${url}/poster`} target="_blank" rel="noreferrer noopener">
            Poster
          </a>
        </>
      }
    >
      <Facts
        facts={[
          [
            'URL',
            <Outside key="url" href={url}>
              {url}
            </Outside>,
          ],
          ...(link.name === null ? [] : [['Name', <bdi key="name">{link.name}</bdi>] as const]),
          ['Price', <Price key="price" {...product} />],
          [
            'Product',
            <To key="product" href={`/products/${product.id}`}>
              {product.name}
            </To>,
          ],
          ['Memo', <Code key="memo" text={link.memo} what="the memo" whole />],
          [
            'Without a memo',
            instructions.data && <Code text={instructions.data.muxedAddress} what="the muxed address" />,
          ],
          ['Payments', plural(link.paymentCount, 'payment')],
          ['Link id', <Code key="id" text={id} what="the link’s id" whole />],
        ]}
      />
      <Codes link={link} instructions={instructions} />
      <Section title="Payments" actions={<To href={`/payments?link=${id}`}>All payments of this link</To>}>
        <List
          title="Payments of this link"
          query={payments}
          columns={PAYMENT_COLUMNS}
          href={(payment) => `/payments/${payment.id}`}
          empty="No payments yet."
          paged={false}
        />
      </Section>
      {canWrite && <Naming link={link} />}
      {canWrite && <Deletion id={id} mayDelete={payments.data?.meta.total === 0} />}
    </Page>
  );
}

function Codes({ link, instructions }: { link: PaymentLink; instructions: Instructions }) {
  const { url, product, slug } = link;
  const file = `${slug}-${product.name.replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 40)}`;
  return (
    <Section title="QR codes">
      <div class="codes">
        <QrBlock text={url} label="Page QR" file={file}>
          <span class="hint">Opens the payment page. For posters, the counter and messages.</span>
        </QrBlock>
        {instructions.data ? (
          <QrBlock text={instructions.data.uri} label="Payment QR" file={`${file}-payment`}>
            <span class="hint">Opens a Stellar wallet with address, memo and amount filled in.</span>
          </QrBlock>
        ) : (
          instructions.error && (
            <p class="hint">The payment QR code is shown while the link, product and wallet are on.</p>
          )
        )}
      </div>
    </Section>
  );
}

function Deletion({ id, mayDelete }: { id: string; mayDelete: boolean }) {
  const remove = useWrite('paymentLinks.delete');
  const [, navigate] = useLocation();
  return (
    <Section title="Delete">
      <p class="hint">A link with payments cannot be deleted: switch it off instead.</p>
      {mayDelete && (
        <Ask
          label="Delete the link"
          title="Delete this link?"
          confirm="Delete"
          isDestructive
          write={remove}
          input={{ id }}
          done="The link is deleted."
          onDone={() => navigate('/links')}
        >
          <p>Its page stops working, and payments with its memo become unmatched.</p>
        </Ask>
      )}
    </Section>
  );
}

function Naming({ link: { id, name } }: { link: PaymentLink }) {
  const { mutateAsync, isPending, error } = useWrite('paymentLinks.update');
  const save = async (text: string | null) => {
    try {
      await mutateAsync({ id, name: text });
      say('Saved.');
    } catch {}
  };
  return (
    <Section title="Name">
      <Form
        submit="Save"
        isBusy={isPending}
        failure={error ? failureOf(error) : null}
        onSubmit={(values) => save(values.orNull('name'))}
      >
        <Field name="name" label="Your name for the link" isOptional value={name ?? ''} hint="Payers do not see it." />
      </Form>
    </Section>
  );
}
