/** Searches for a link or checkout and assigns an unmatched payment to it. */
import type { ComponentChildren } from 'preact';
import { useParam } from '../address.js';
import { type Item, useRead, useWrite } from '../api.js';
import { Ask } from '../parts/act.js';
import { Badge, Money } from '../parts/bits.js';
import { Search, Tabs } from '../parts/filters.js';
import { Section, Shown } from '../parts/page.js';
import { rich } from '../parts/rich.js';
import { t } from '../texts/texts.js';
import { CHECKOUT_STATUS } from '../words.js';

type Payment = Item<'payments.list'>;

const KINDS = [
  ['', t('paymentLinks')],
  ['checkouts', t('checkouts')],
] as const;
const SHOWN = 10;

export function Assign({ payment, onDone }: { payment: Payment; onDone: () => void }) {
  const [kind, setKind] = useParam('to');
  return (
    <Section title={t('assignIt')}>
      <p class="hint">{t('paymentJudgedIfHad')}</p>
      <Tabs label={t('assignTo')} options={KINDS} value={kind} set={setKind} />
      {kind === 'checkouts' ? (
        <Checkouts payment={payment} onDone={onDone} />
      ) : (
        <Links payment={payment} onDone={onDone} />
      )}
    </Section>
  );
}

function Links({ payment, onDone }: { payment: Payment; onDone: () => void }) {
  const [search] = useParam('search');
  const links = useRead('paymentLinks.list', { pageSize: SHOWN, ...(search && { search }) });
  return (
    <>
      <Search name="search" label={t('productMemoEndLinks')} />
      <Shown query={links}>
        {({ items, meta }) => (
          <Choices isEmpty={items.length === 0} more={meta.total - items.length}>
            {items.map(({ id, product, memo }) => (
              <li key={id}>
                <span>
                  <bdi>{product.name}</bdi>
                  {product.price && (
                    <Money amount={product.price} code={product.assetCode} currency={product.currency} />
                  )}
                  <code>{memo}</code>
                </span>
                <Give payment={payment} target={{ paymentLinkId: id }} name={product.name} onDone={onDone} />
              </li>
            ))}
          </Choices>
        )}
      </Shown>
    </>
  );
}

function Checkouts({ payment, onDone }: { payment: Payment; onDone: () => void }) {
  const [search] = useParam('search');
  const checkouts = useRead('checkouts.list', { pageSize: SHOWN, ...(search && { reference: search }) });
  return (
    <>
      <Search name="search" label={t('checkoutsFullReference')} />
      <Shown query={checkouts}>
        {({ items, meta }) => (
          <Choices isEmpty={items.length === 0} more={meta.total - items.length}>
            {items.map(({ id, name, reference, status, remainingAmount, remainingValue, currency, assetCode }) => (
              <li key={id}>
                <span>
                  <bdi>{reference ?? name}</bdi>
                  <Badge {...CHECKOUT_STATUS[status]} />
                  <span>
                    {rich('amountDue', {
                      amount: (
                        <Money amount={remainingValue ?? remainingAmount!} code={assetCode} currency={currency} />
                      ),
                    })}
                  </span>
                </span>
                <Give payment={payment} target={{ checkoutId: id }} name={reference ?? name} onDone={onDone} />
              </li>
            ))}
          </Choices>
        )}
      </Shown>
    </>
  );
}

const Choices = ({ isEmpty, more, children }: { isEmpty: boolean; more: number; children: ComponentChildren }) =>
  isEmpty ? (
    <p class="empty">{t('nothingFits')}</p>
  ) : (
    <>
      <ul class="choices">{children}</ul>
      {more > 0 && <p class="hint">{t('moreToFind', { n: more })}</p>}
    </>
  );

type Target = { paymentLinkId: string } | { checkoutId: string };

function Give({
  payment,
  target,
  name,
  onDone,
}: {
  payment: Payment;
  target: Target;
  name: string;
  onDone: () => void;
}) {
  const write = useWrite('payments.assign');
  return (
    <Ask
      label={t('assign')}
      title={t('assignNameAsk', { name })}
      confirm={t('assign')}
      write={write}
      input={{ id: payment.id, ...target }}
      done={t('assignedName', { name })}
      onDone={(judged: Payment) => {
        if (judged.status !== 'UNMATCHED') onDone();
      }}
    >
      <p>
        {rich('willCountFor', {
          amount: <Money amount={payment.amount} code={payment.assetCode} />,
          name: <bdi>{name}</bdi>,
        })}
      </p>
    </Ask>
  );
}
