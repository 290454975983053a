/** One payment: its outcome, the ledger's facts, and the possible decisions. */
import { useEffect, useState } from 'preact/hooks';
import { Link } from 'wouter-preact';
import { BASE, useParam } from '../address.js';
import { failureOf, type Item, type Output, useRead, useWrite } from '../api.js';
import { amountOf, grouped, readAmount, stroopsOf } from '../format.js';
import { Ask, useCanWrite, useMay } from '../parts/act.js';
import { Code, Copy, Facts, Money, Outside, Time } from '../parts/bits.js';
import { save } from '../parts/export.js';
import { Field, Form, type Values } from '../parts/form.js';
import { Failed, Loaded, Page, Section, Shown } from '../parts/page.js';
import { QrBlock } from '../parts/qr-block.js';
import { rich } from '../parts/rich.js';
import { say } from '../parts/toast.js';
import { t } from '../texts/texts.js';
import { reasonSentence } from '../words.js';
import { Assign } from './assign.js';
import { PaymentBadge } from './payments.js';

type Received = Item<'payments.list'>;

const BACK = { href: '/payments', label: t('payments') };
/** Interval of looks for the refund that the panel asks for. */
const REFUND_LOOK_MS = 2_000;
const REFUND = 'refund';
/** Interval of looks for a proof that is being made. */
const PROOF_LOOK_MS = 5_000;
const PROOF = 'proof';
const CHECK_PAGE = `${BASE.replace(/\/dashboard$/, '')}/proof`;

/** What has not been sent back, in stroops. */
const leftOf = ({ amount, refundedAmount }: Received): bigint => stroopsOf(amount) - stroopsOf(refundedAmount);

export function Payment({ id }: { id: string }) {
  const [open] = useParam('do');
  const look = open === REFUND ? { refetchInterval: REFUND_LOOK_MS } : {};
  const payment = useRead('payments.get', { id }, { keepPrevious: false, ...look });
  return (
    <Loaded query={payment} title={t('payment')} back={BACK}>
      {(data) => <Details payment={data} />}
    </Loaded>
  );
}

function Details({ payment }: { payment: Received }) {
  const { amount, assetCode, reason, product } = payment;
  const [open, setOpen] = useParam('do');
  const canWrite = useCanWrite();
  const mayProve = useMay('payments.proof');
  const isUnmatched = payment.status === 'UNMATCHED';
  const isLeft = leftOf(payment) > 0n;
  return (
    <Page
      title={t('paymentAmountAssetCode', { amount, assetCode })}
      back={BACK}
      about={payment.id}
      badge={<PaymentBadge {...payment} />}
    >
      {reason && <p class="lead">{reasonSentence(reason)}</p>}
      {payment.decisionNote !== null && <p>{t('leftDecisionNote', { decisionNote: payment.decisionNote })}</p>}
      <div class="actions">
        {canWrite && isLeft && <Accept payment={payment} />}
        {canWrite && payment.needsDecision && <Dismiss id={payment.id} />}
        {canWrite && isUnmatched && isLeft && (
          <button
            type="button"
            aria-expanded={open === 'assign'}
            onClick={() => setOpen(open === 'assign' ? '' : 'assign')}
          >
            {t('assignLinkCheckout')}
          </button>
        )}
        {(isLeft || open === REFUND) && (
          <button
            type="button"
            class="plain"
            aria-expanded={open === REFUND}
            onClick={() => setOpen(open === REFUND ? '' : REFUND)}
          >
            {t('refund')}
          </button>
        )}
        {mayProve && (
          <button
            type="button"
            class="plain"
            aria-expanded={open === PROOF}
            onClick={() => setOpen(open === PROOF ? '' : PROOF)}
          >
            {t('proof')}
          </button>
        )}
      </div>
      {open === PROOF && mayProve && <Proof id={payment.id} />}
      {open === 'assign' && canWrite && isUnmatched && isLeft && (
        <Assign payment={payment} onDone={() => setOpen('')} />
      )}
      {open === REFUND && <Refund payment={payment} />}
      {open === REFUND && canWrite && isLeft && <BookRefund id={payment.id} />}
      <Section title={t('whatFor')}>
        <Facts
          facts={[
            [t('product'), product && <Link href={`/products/${product.id}`}>{product.name}</Link>],
            [
              t('paymentLink'),
              payment.paymentLinkId && <Link href={`/links/${payment.paymentLinkId}`}>{payment.paymentLinkId}</Link>,
            ],
            [
              t('checkout'),
              payment.checkoutId && <Link href={`/checkouts/${payment.checkoutId}`}>{payment.checkoutId}</Link>,
            ],
            [t('linkCheckout'), isUnmatched && t('noneInText')],
            [
              t('expected'),
              payment.expectedAmount && (
                <Money amount={payment.expectedAmount} code={product?.assetCode ?? assetCode} />
              ),
            ],
            [t('paid'), <Money key="paid" amount={amount} code={assetCode} />],
            [
              t('value'),
              payment.value && (
                <Money amount={payment.value.amount} code={assetCode} currency={payment.value.currency} />
              ),
            ],
            [t('tooMuch'), payment.excessAmount && <Money amount={payment.excessAmount} code={assetCode} />],
            [t('missing'), payment.shortfallAmount && <Money amount={payment.shortfallAmount} code={assetCode} />],
          ]}
        />
      </Section>
      <Refunds payment={payment} />
      <LedgerFacts payment={payment} />
    </Page>
  );
}

/** Refunds that the ledger shows. */
function Refunds({ payment: { refunds, refundedAmount, assetCode } }: { payment: Received }) {
  if (refunds.length === 0) return null;
  return (
    <Section title={t('sentBack')}>
      <Facts
        facts={[
          [t('inAll'), <Money key="all" amount={refundedAmount} code={assetCode} />],
          ...refunds.map(({ transactionHash, amount, at }, index) => {
            const facts = (
              <>
                {rich('amountOnDay', {
                  amount: <Money amount={amount} code={assetCode} />,
                  time: <Time at={at} exact />,
                })}{' '}
                <Code text={transactionHash} what={t('theTransactionHash')} />
              </>
            );
            return [t('refundNumber', { number: index + 1 }), facts] as const;
          }),
        ]}
      />
    </Section>
  );
}

function LedgerFacts({ payment }: { payment: Received }) {
  const { explorerUrl } = payment;
  return (
    <Section title={t('onLedger')}>
      <Facts
        facts={[
          [t('paid'), <Time key="paid" at={payment.ledgerClosedAt} exact />],
          [t('recorded'), <Time key="recorded" at={payment.createdAt} exact />],
          [
            t('memo'),
            payment.memo === null ? t('noneInText') : <Code key="memo" text={payment.memo} what={t('theMemo')} whole />,
          ],
          [t('kindMemo'), payment.memoType !== 'none' && payment.memoType],
          [t('muxedId'), payment.destinationMuxedId],
          [t('fromSender'), <Code key="from" text={payment.senderAddress} what={t('theSendersAddress')} whole />],
          [
            t('fromMuxed'),
            payment.senderMuxedAddress && <Code text={payment.senderMuxedAddress} what={t('theMuxedAddress')} whole />,
          ],
          [t('to'), <Code key="to" text={payment.receiverAddress} what={t('theWalletsAddress')} whole />],
          [
            t('wallet'),
            <Link key="wallet" href={`/wallets/${payment.walletId}`}>
              {payment.walletId}
            </Link>,
          ],
          [t('issuer'), payment.assetIssuer && <Code text={payment.assetIssuer} what={t('theIssuer')} whole />],
          [t('network'), payment.network],
          [t('ledger'), String(payment.ledger)],
          [t('transaction'), <Code key="hash" text={payment.transactionHash} what={t('theTransactionHash')} whole />],
          [t('explorer'), explorerUrl && <Outside href={explorerUrl}>{t('viewBlockExplorer')}</Outside>],
          [t('paymentId'), <Code key="id" text={payment.id} what={t('thePaymentsId')} whole />],
        ]}
      />
    </Section>
  );
}

function Accept({ payment }: { payment: Received }) {
  const write = useWrite('payments.accept');
  if (payment.status !== 'UNDERPAID' && payment.status !== 'REJECTED') return null;
  if (payment.checkoutId) {
    // The checkout takes no other asset, so this money can only be sent back.
    if (payment.reason === 'wrong_asset') return null;
    return (
      <Link className="button" href={`/checkouts/${payment.checkoutId}`}>
        {t('decideCheckout')}
      </Link>
    );
  }
  return (
    <Ask
      label={t('accept')}
      title={t('acceptPaymentAsk')}
      confirm={t('accept')}
      write={write}
      input={{ id: payment.id }}
      done={t('paymentCompleted')}
    >
      <p>
        {rich('willCountAsPaid', {
          amount: <Money amount={amountOf(leftOf(payment))} code={payment.assetCode} />,
        })}
      </p>
    </Ask>
  );
}

/** Dismisses the payment, with a note. */
function Dismiss({ id }: { id: string }) {
  const write = useWrite('payments.dismiss');
  const [note, setNote] = useState('');
  return (
    <Ask
      label={t('leaveIt')}
      title={t('leavePaymentAsk')}
      confirm={t('leaveIt')}
      write={write}
      input={{ id, note: note.trim() === '' ? null : note.trim() }}
      done={t('paymentNoLongerNeeds')}
    >
      <p>{t('keepsStatusNoLonger')}</p>
      <Field name="note" label={t('note')} isOptional hint={t('reasonLaterReference')} onInput={setNote} />
    </Ask>
  );
}

/** The proof of the payment as a file. It is made when it is asked for; with the signatures of a
 *  network's validators that takes minutes. */
function Proof({ id }: { id: string }) {
  const [isMade, setMade] = useState(false);
  const proof = useRead('payments.proof', { id }, { keepPrevious: false, refetchInterval: !isMade && PROOF_LOOK_MS });
  const isReady = proof.data?.state === 'READY';
  useEffect(() => setMade(isReady), [isReady]);
  return (
    <Section title={t('proof')}>
      <p>
        {rich('provesToAnybody', {
          link: (words) => <Outside href={CHECK_PAGE}>{words}</Outside>,
          command: <code>npx stellar-payment-proof verify</code>,
        })}
      </p>
      <Shown query={proof}>
        {({ state, level, reason, proof: bundle }) =>
          state === 'READY' ? (
            <p class="actions">
              <button
                type="button"
                onClick={() =>
                  save(new Blob([JSON.stringify(bundle)], { type: 'application/json' }), 'payment-proof.json')
                }
              >
                {t('downloadProof')}
              </button>
              {level === 'signed' ? t('signaturesValidators') : t('hashLedger')}
            </p>
          ) : (
            <p role="status">
              {state === 'WAITING' ? t('beingMade') : t('thereNone')} {reason}
            </p>
          )
        }
      </Shown>
    </Section>
  );
}

/** Instructions to refund all that is left, the excess, or another part; none for money that was
 *  sent back already. */
function Refund({ payment }: { payment: Received }) {
  const { id, refundedAmount, assetCode } = payment;
  const left = leftOf(payment);
  return (
    <Section title={t('sendBack')}>
      {refundedAmount !== '0' && (
        <p class="callout good" role="status">
          {left === 0n
            ? t('allSentBack')
            : t('refundedAmountAssetCodeSentBack', { refundedAmount: grouped(refundedAmount), assetCode })}
        </p>
      )}
      {left > 0n && <RefundOf key={refundedAmount} id={id} left={left} />}
    </Section>
  );
}

function RefundOf({ id, left }: { id: string; left: bigint }) {
  const [part, setPart] = useState('');
  const whole = useRead('payments.refund', { id }, { refetchInterval: false });
  const read = readAmount(part, whole.data?.assetCode ?? '');
  const amount = read.state === 'number' ? read.amount : part.trim();
  const asked = { id, ...(amount && { amount }) };
  const refund = useRead('payments.refund', asked, {
    ...{ enabled: read.state !== 'ambiguous', keepPrevious: false, refetchInterval: false },
  });
  const excess = whole.data?.excessAmount;
  return (
    <>
      {whole.data && (
        <div class="filters">
          <div class="field">
            <label for="refund-part">{t('howMuch')}</label>
            <input
              id="refund-part"
              inputMode="decimal"
              autoComplete="off"
              value={part}
              placeholder={whole.data.amount}
              onInput={({ currentTarget }) => setPart(currentTarget.value)}
            />
          </div>
          {excess && (
            <button type="button" class="plain" onClick={() => setPart(excess)}>
              {t('onlyExcessExcessAssetCode', { excess, assetCode: whole.data.assetCode })}
            </button>
          )}
        </div>
      )}
      {read.state === 'ambiguous' ? (
        <p class="problem" role="alert">
          {t('writeWholeDecimal', { whole: read.whole, decimal: read.decimal })}
        </p>
      ) : refund.error ? (
        <Failed error={refund.error} retry={refund.refetch} />
      ) : (
        <Shown query={refund}>
          {(request) =>
            // More than is left was asked for before a refund came.
            stroopsOf(request.amount) <= left && <RefundRequest request={request} />
          }
        </Shown>
      )}
    </>
  );
}

/** Books a refund that was sent without the memo that identifies refunds. */
function BookRefund({ id }: { id: string }) {
  const write = useWrite('payments.addRefund');
  const submit = async (values: Values) => {
    try {
      await write.mutateAsync({ id, transactionHash: values.text('transactionHash') });
      say(t('refundBooked'));
    } catch {}
  };
  return (
    <Section title={t('sentBackAlreadyAsk')}>
      <Form
        submit={t('bookRefund')}
        isBusy={write.isPending}
        failure={write.error ? failureOf(write.error) : null}
        onSubmit={submit}
      >
        <Field name="transactionHash" label={t('itsTransactionHash')} hint={t('refundMemoAboveBooked')} />
      </Form>
    </Section>
  );
}

function RefundRequest({ request }: { request: Output<'payments.refund'> }) {
  const { uri, destination, memo } = request;
  return (
    <div class="beside">
      {uri && (
        <QrBlock text={uri} label={t('refundQr')}>
          <span class="hint">{t('scanWalletReceivedPayment')}</span>
          <span class="actions">
            <a class="button plain" href={uri}>
              {t('openWallet')}
            </a>
            <Copy text={uri} what={t('theRefundRequest')} label={t('copyRequest')} />
          </span>
        </QrBlock>
      )}
      <div>
        {!uri && <p class="callout">{t('senderContractWalletRequest')}</p>}
        <Facts
          facts={[
            [t('amount'), <Money key="amount" amount={request.amount} code={request.assetCode} />],
            [t('to'), <Code key="to" text={destination} what={t('theDestination')} whole />],
            [t('memo'), memo && <Code text={memo} what={t('theRefundsMemo')} whole />],
            [t('issuer'), request.assetIssuer && <Code text={request.assetIssuer} what={t('theIssuer')} whole />],
          ]}
        />
      </div>
    </div>
  );
}
