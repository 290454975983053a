/** One payment link: its name, its URL, its codes. */
import { Link as To, useLocation } from 'wouter-preact';
import { failureOf, type Item, useRead, useWrite } from '../api.js';
import { Ask, useCanWrite } from '../parts/act.js';
import { Code, Copy, Facts, Outside, Time } from '../parts/bits.js';
import { useChanges } from '../parts/changes.js';
import { Form, type Values } from '../parts/form.js';
import { List } from '../parts/list.js';
import { Loaded, Page, Section } from '../parts/page.js';
import { QrBlock } from '../parts/qr-block.js';
import { say } from '../parts/toast.js';
import { t, wholeNumber } from '../texts/texts.js';
import { LinkFields, linkOf } from './link-form.js';
import { LinkSwitch } from './links.js';
import { PAYMENT_COLUMNS } from './payments.js';
import { Price } from './products.js';

type PaymentLink = Item<'paymentLinks.list'>;

const BACK = { href: '/links', label: t('paymentLinks') };

/** An order link has none of its own. */
const useInstructions = ({ id, active, order }: PaymentLink) =>
  useRead('paymentLinks.instructions', { id }, { enabled: active && order === null });
type Instructions = Pick<ReturnType<typeof useInstructions>, 'data' | 'error'>;

export function Link({ id }: { id: string }) {
  const link = useRead('paymentLinks.get', { id }, { keepPrevious: false });
  return (
    <Loaded query={link} title={t('paymentLink')} back={BACK}>
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
      title={t('linkName', { name: product.name })}
      about={id}
      back={BACK}
      badge={<LinkSwitch link={link} />}
      actions={
        <>
          <Copy text={url} what={t('theUrl')} label={t('copyUrl')} />
          <a class="button plain" href={`${url}/poster`} target="_blank" rel="noreferrer noopener">
            {t('poster')}
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
          ...(link.name === null ? [] : [[t('name'), <bdi key="name">{link.name}</bdi>] as const]),
          [t('price'), <Price key="price" {...product} />],
          [
            t('product'),
            <To key="product" href={`/products/${product.id}`}>
              {product.name}
            </To>,
          ],
          [t('memo'), <Code key="memo" text={link.memo} what={t('theMemo')} whole />],
          [
            t('withoutMemo'),
            instructions.data && <Code text={instructions.data.muxedAddress} what={t('theMuxedAddress')} />,
          ],
          [t('kindOfLink'), link.order && t('orderLink')],
          [t('ends'), link.endsAt && <Time key="ends" at={link.endsAt} exact />],
          [t('mostPayments'), link.maxPayments !== null && wholeNumber(link.maxPayments)],
          [t('payments'), t('paymentsCount', { n: link.paymentCount })],
          [t('linkId'), <Code key="id" text={id} what={t('theLinksId')} whole />],
        ]}
      />
      <Codes link={link} instructions={instructions} />
      <Section title={t('payments')} actions={<To href={`/payments?link=${id}`}>{t('allPaymentsLink')}</To>}>
        <List
          title={t('paymentsLink')}
          query={payments}
          columns={PAYMENT_COLUMNS}
          href={(payment) => `/payments/${payment.id}`}
          empty={t('noPaymentsYet')}
          paged={false}
        />
      </Section>
      {canWrite && <LinkForm link={link} />}
      {canWrite && <Deletion id={id} mayDelete={payments.data?.meta.total === 0} />}
    </Page>
  );
}

function Codes({ link, instructions }: { link: PaymentLink; instructions: Instructions }) {
  const { url, product, slug } = link;
  const file = `${slug}-${product.name.replace(/[^\p{L}\p{N}]+/gu, '-').slice(0, 40)}`;
  return (
    <Section title={t('qrCodes')}>
      <div class="codes">
        <QrBlock text={url} label={t('pageQr')} file={file}>
          <span class="hint">{t('opensPaymentPagePosters')}</span>
        </QrBlock>
        {instructions.data ? (
          <QrBlock text={instructions.data.uri} label={t('paymentQr')} file={`${file}-payment`}>
            <span class="hint">{t('opensStellarWalletAddress')}</span>
          </QrBlock>
        ) : (
          instructions.error && <p class="hint">{t('paymentQrCodeShown')}</p>
        )}
      </div>
    </Section>
  );
}

function Deletion({ id, mayDelete }: { id: string; mayDelete: boolean }) {
  const remove = useWrite('paymentLinks.delete');
  const [, navigate] = useLocation();
  return (
    <Section title={t('delete')}>
      <p class="hint">{t('linkPaymentsCannotDeleted')}</p>
      {mayDelete && (
        <Ask
          label={t('deleteLink')}
          title={t('deleteLinkAsk')}
          confirm={t('delete')}
          isDestructive
          write={remove}
          input={{ id }}
          done={t('linkDeleted')}
          onDone={() => navigate('/links')}
        >
          <p>{t('pageStopsWorkingPayments')}</p>
        </Ask>
      )}
    </Section>
  );
}

function LinkForm({ link }: { link: PaymentLink }) {
  const { mutateAsync, isPending, error } = useWrite('paymentLinks.update');
  const { first, save } = useChanges(link, (changes: Partial<ReturnType<typeof linkOf>>) =>
    mutateAsync({ id: link.id, ...changes }),
  );
  const submit = async (values: Values) => {
    try {
      await save(linkOf(values, first));
      say(t('saved'));
    } catch {}
  };
  return (
    <Section title={t('change')}>
      <Form submit={t('save')} isBusy={isPending} failure={error ? failureOf(error) : null} onSubmit={submit}>
        <LinkFields link={first} />
      </Form>
    </Section>
  );
}
