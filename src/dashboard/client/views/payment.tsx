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
import { say } from '../parts/toast.js';
import { PAYMENT_REASON } from '../words.js';
import { Assign } from './assign.js';
import { PaymentBadge } from './payments.js';

type Received = Item<'payments.list'>;

const BACK = { href: '/payments', label: 'Payments' };
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
    <Loaded query={payment} title="Payment" back={BACK}>
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
      title={`Payment of ${amount} ${assetCode}`}
      back={BACK}
      about={payment.id}
      badge={<PaymentBadge {...payment} />}
    >
      {reason && <p class="lead">{PAYMENT_REASON[reason].sentence}</p>}
      {payment.decisionNote !== null && <p>Left as it is: {payment.decisionNote}</p>}
      <div class="actions">
        {canWrite && isLeft && <Accept payment={payment} />}
        {canWrite && payment.needsDecision && <Dismiss id={payment.id} />}
        {canWrite && isUnmatched && isLeft && (
          <button
            type="button"
            aria-expanded={open === 'assign'}
            onClick={() => setOpen(open === 'assign' ? '' : 'assign')}
          >
            Assign to a link or checkout
          </button>
        )}
        {(isLeft || open === REFUND) && (
          <button
            type="button"
            class="plain"
            aria-expanded={open === REFUND}
            onClick={() => setOpen(open === REFUND ? '' : REFUND)}
          >
            Refund
          </button>
        )}
        {mayProve && (
          <button
            type="button"
            class="plain"
            aria-expanded={open === PROOF}
            onClick={() => setOpen(open === PROOF ? '' : PROOF)}
          >
            Proof
          </button>
        )}
      </div>
      {open === PROOF && mayProve && <Proof id={payment.id} />}
      {open === 'assign' && canWrite && isUnmatched && isLeft && (
        <Assign payment={payment} onDone={() => setOpen('')} />
      )}
      {open === REFUND && <Refund payment={payment} />}
      {open === REFUND && canWrite && isLeft && <BookRefund id={payment.id} />}
      <Section title="What it was for">
        <Facts
          facts={[
            ['Product', product && <Link href={`/products/${product.id}`}>{product.name}</Link>],
            [
              'Payment link',
              payment.paymentLinkId && <Link href={`/links/${payment.paymentLinkId}`}>{payment.paymentLinkId}</Link>,
            ],
            [
              'Checkout',
              payment.checkoutId && <Link href={`/checkouts/${payment.checkoutId}`}>{payment.checkoutId}</Link>,
            ],
            ['Link or checkout', isUnmatched && 'none'],
            [
              'Expected',
              payment.expectedAmount && (
                <Money amount={payment.expectedAmount} code={product?.assetCode ?? assetCode} />
              ),
            ],
            ['Paid', <Money key="paid" amount={amount} code={assetCode} />],
            [
              'Value',
              payment.value && (
                <Money amount={payment.value.amount} code={assetCode} currency={payment.value.currency} />
              ),
            ],
            ['Too much', payment.excessAmount && <Money amount={payment.excessAmount} code={assetCode} />],
            ['Missing', payment.shortfallAmount && <Money amount={payment.shortfallAmount} code={assetCode} />],
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
    <Section title="Sent back">
      <Facts
        facts={[
          ['In all', <Money key="all" amount={refundedAmount} code={assetCode} />],
          ...refunds.map(({ transactionHash, amount, at }, index) => {
            const facts = (
              <>
                <Money amount={amount} code={assetCode} /> on <Time at={at} exact />{' '}
                <Code text={transactionHash} what="the transaction hash" />
              </>
            );
            return [`Refund ${index + 1}`, facts] as const;
          }),
        ]}
      />
    </Section>
  );
}

function LedgerFacts({ payment }: { payment: Received }) {
  const { explorerUrl } = payment;
  return (
    <Section title="On the ledger">
      <Facts
        facts={[
          ['Paid', <Time key="paid" at={payment.ledgerClosedAt} exact />],
          ['Recorded', <Time key="recorded" at={payment.createdAt} exact />],
          ['Memo', payment.memo === null ? 'none' : <Code key="memo" text={payment.memo} what="the memo" whole />],
          ['Kind of memo', payment.memoType !== 'none' && payment.memoType],
          ['Muxed id', payment.destinationMuxedId],
          ['From', <Code key="from" text={payment.senderAddress} what="the sender’s address" whole />],
          [
            'From, muxed',
            payment.senderMuxedAddress && <Code text={payment.senderMuxedAddress} what="the muxed address" whole />,
          ],
          ['To', <Code key="to" text={payment.receiverAddress} what="the wallet’s address" whole />],
          [
            'Wallet',
            <Link key="wallet" href={`/wallets/${payment.walletId}`}>
              {payment.walletId}
            </Link>,
          ],
          ['Issuer', payment.assetIssuer && <Code text={payment.assetIssuer} what="the issuer" whole />],
          ['Network', payment.network],
          ['Ledger', String(payment.ledger)],
          ['Transaction', <Code key="hash" text={payment.transactionHash} what="the transaction hash" whole />],
          ['Explorer', explorerUrl && <Outside href={explorerUrl}>View in a block explorer</Outside>],
          ['Payment id', <Code key="id" text={payment.id} what="the payment’s id" whole />],
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
        Decide at its checkout
      </Link>
    );
  }
  return (
    <Ask
      label="Accept"
      title="Accept this payment?"
      confirm="Accept"
      write={write}
      input={{ id: payment.id }}
      done="The payment is completed."
    >
      <p>
        <Money amount={amountOf(leftOf(payment))} code={payment.assetCode} /> will count as paid in full, and your
        webhooks are notified. This cannot be undone.
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
      label="Leave it"
      title="Leave this payment as it is?"
      confirm="Leave it"
      write={write}
      input={{ id, note: note.trim() === '' ? null : note.trim() }}
      done="The payment no longer needs a decision."
    >
      <p>It keeps its status and no longer needs a decision.</p>
      <Field name="note" label="Note" isOptional hint="The reason, for later reference." onInput={setNote} />
    </Ask>
  );
}

/** The proof of the payment as a file. It is made when it is asked for; with the signatures of a network's validators that takes minutes. */
function Proof({ id }: { id: string }) {
  const [isMade, setMade] = useState(false);
  const proof = useRead('payments.proof', { id }, { keepPrevious: false, refetchInterval: !isMade && PROOF_LOOK_MS });
  const isReady = proof.data?.state === 'READY';
  useEffect(() => setMade(isReady), [isReady]);
  return (
    <Section title="Proof">
      <p>
        It proves to anybody, without asking anyone, that the payment is in the network’s ledger: check it on{' '}
        <Outside href={CHECK_PAGE}>the page for proofs</Outside>, or with the command{' '}
        <code>npx stellar-payment-proof verify</code>.
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
                Download the proof
              </button>
              {level === 'signed' ? 'With the signatures of validators.' : 'By the hash of its ledger.'}
            </p>
          ) : (
            <p role="status">
              {state === 'WAITING' ? 'It is being made.' : 'There is none.'} {reason}
            </p>
          )
        }
      </Shown>
    </Section>
  );
}

/** Instructions to refund all that is left, the excess, or another part; none for money that was sent back already. */
function Refund({ payment }: { payment: Received }) {
  const { id, refundedAmount, assetCode } = payment;
  const left = leftOf(payment);
  return (
    <Section title="Send it back">
      {refundedAmount !== '0' && (
        <p class="callout good" role="status">
          {left === 0n ? 'All of it was sent back.' : `${grouped(refundedAmount)} ${assetCode} was sent back.`}
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
            <label for="refund-part">How much</label>
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
              Only the excess ({excess} {whole.data.assetCode})
            </button>
          )}
        </div>
      )}
      {read.state === 'ambiguous' ? (
        <p class="problem" role="alert">
          Write {read.whole} or {read.decimal}.
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
      say('The refund is booked.');
    } catch {}
  };
  return (
    <Section title="Sent back already?">
      <Form
        submit="Book the refund"
        isBusy={write.isPending}
        failure={write.error ? failureOf(write.error) : null}
        onSubmit={submit}
      >
        <Field
          name="transactionHash"
          label="Its transaction hash"
          hint="A refund with the memo above is booked automatically. For one without it, enter the transaction hash: 64 letters and digits, as the sending wallet shows it."
        />
      </Form>
    </Section>
  );
}

function RefundRequest({ request }: { request: Output<'payments.refund'> }) {
  const { uri, destination, memo } = request;
  return (
    <div class="beside">
      {uri && (
        <QrBlock text={uri} label="Refund QR">
          <span class="hint">
            Scan it with the wallet that received the payment. This service holds no keys: you send the money.
          </span>
          <span class="actions">
            <a class="button plain" href={uri}>
              Open in a wallet
            </a>
            <Copy text={uri} what="the refund request" label="Copy the request" />
          </span>
        </QrBlock>
      )}
      <div>
        {!uri && (
          <p class="callout">
            The sender is a contract, which a wallet request cannot pay: send the amount to its address by hand.
          </p>
        )}
        <Facts
          facts={[
            ['Amount', <Money key="amount" amount={request.amount} code={request.assetCode} />],
            ['To', <Code key="to" text={destination} what="the destination" whole />],
            ['Memo', memo && <Code text={memo} what="the refund’s memo" whole />],
            ['Issuer', request.assetIssuer && <Code text={request.assetIssuer} what="the issuer" whole />],
          ]}
        />
      </div>
    </div>
  );
}
