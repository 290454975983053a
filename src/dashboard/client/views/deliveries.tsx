/** A webhook's deliveries, each with its request, its attempts and a button to resend it. */
import { useState } from 'preact/hooks';
import { useParam } from '../address.js';
import { failureOf, type Input, type Item, type Output, useRead, useWrite } from '../api.js';
import { grouped, startOfDay } from '../format.js';
import { Act, useCanWrite } from '../parts/act.js';
import { Badge, Code, Facts, Time } from '../parts/bits.js';
import { Tabs } from '../parts/filters.js';
import { Choice, Field, Form, type Values } from '../parts/form.js';
import { Section, Shown } from '../parts/page.js';
import { rich } from '../parts/rich.js';
import { say } from '../parts/toast.js';
import { t, wholeNumber } from '../texts/texts.js';
import { DELIVERY_STATUS, WEBHOOK_HEALTH } from '../words.js';

// Health of a webhook: whether deliveries arrive, how many wait, how fast the endpoint answers; and
// a form that replays a period.

export function Health({ webhookId }: { webhookId: string }) {
  const health = useRead('webhooks.health', { id: webhookId }, { refetchInterval: 10_000, keepPrevious: false });
  return (
    <Section title={t('health')}>
      <Shown query={health}>{(data) => <HealthFacts health={data} />}</Shown>
    </Section>
  );
}

function HealthFacts({ health }: { health: Output<'webhooks.health'> }) {
  const { state, pending, oldestPendingAt, lastDeliveredAt, lastFailureAt, lastError, latencyMs } = health;
  const { sentence, ...word } = WEBHOOK_HEALTH[state];
  return (
    <>
      <p class="lead">
        <Badge {...word} /> {sentence}
      </p>
      <Facts
        facts={[
          [
            t('waiting'),
            <>
              {grouped(String(pending))}
              {oldestPendingAt && <>, {rich('oldestSince', { time: <Time at={oldestPendingAt} /> })}</>}
            </>,
          ],
          [t('delivered24H'), grouped(String(health.delivered24h))],
          [t('failed24H'), grouped(String(health.failed24h))],
          [t('lastDelivered'), lastDeliveredAt && <Time at={lastDeliveredAt} exact />],
          [t('lastFailure'), lastFailureAt && <Time at={lastFailureAt} exact />],
          [t('because'), lastError],
          [
            t('answersWithin'),
            latencyMs.p50 !== null &&
              latencyMs.p95 !== null &&
              t('latencyOf', { p50: latencyMs.p50, p95: latencyMs.p95 }),
          ],
        ]}
      />
    </>
  );
}

const WHAT = [
  { value: 'FAILED', label: t('failedDeliveries'), hint: t('deliveriesWereGivenUp') },
  {
    value: 'ALL',
    label: t('everything'),
    hint: t('everyEventTimeDelivered'),
  },
] as const;

export function Replay({ webhookId }: { webhookId: string }) {
  const replay = useWrite('webhooks.replay');
  // Changes after each replay, so that the form starts empty again.
  const [round, setRound] = useState(0);
  const submit = async (values: Values) => {
    const [from, to] = [values.text('from'), values.text('to')];
    const input: Input<'webhooks.replay'> = {
      id: webhookId,
      status: values.text('status') as 'FAILED' | 'ALL',
      ...(from && { from: startOfDay(from).toISOString() }),
      // The last day is included.
      ...(to && { to: startOfDay(to, 1).toISOString() }),
    };
    try {
      const { replayed } = await replay.mutateAsync(input);
      say(replayed === 0 ? t('noDeliveriesSendAgain') : t('deliveriesWillBeSent', { n: replayed }));
      setRound(round + 1);
    } catch {}
  };
  return (
    <Section title={t('sendAgain')}>
      <Form
        key={round}
        submit={t('sendThemAgain')}
        isBusy={replay.isPending}
        failure={replay.error ? failureOf(replay.error) : null}
        onSubmit={submit}
      >
        <Choice name="status" legend={t('whatHappened')} type="radio" value={['FAILED']} options={WHAT} />
        <Field name="from" label={t('fromDay')} type="date" isOptional hint={t('withoutFirstEvent')} />
        <Field name="to" label={t('untilDayIncluded')} type="date" isOptional hint={t('withoutUpNow')} />
      </Form>
    </Section>
  );
}

type Delivery = Item<'webhooks.deliveries'>;

const STATUSES = ['PENDING', 'DELIVERED', 'FAILED', 'CANCELLED'] as const;
const TABS = [['', t('all')], ...STATUSES.map((status) => [status, DELIVERY_STATUS[status].label] as const)] as const;

export function Deliveries({ webhookId }: { webhookId: string }) {
  const [status, setStatus] = useParam('status');
  const [text, setShown] = useParam('shown');
  const pageSize = Math.min(100, Math.max(10, Number(text) || 10));
  const known = STATUSES.find((each) => each === status);
  const deliveries = useRead(
    'webhooks.deliveries',
    { id: webhookId, pageSize, ...(known && { status: known }) },
    { refetchInterval: 5_000 },
  );
  return (
    <Section title={t('deliveries')}>
      <Tabs label={t('status')} options={TABS} value={known ?? ''} set={setStatus} />
      <Shown query={deliveries}>
        {({ items, meta }) => (
          <>
            {items.length === 0 && <p class="empty">{known ? t('noDeliveriesMatch') : t('noDeliveriesYet')}</p>}
            <ul class="deliveries">
              {items.map((delivery) => (
                <One key={delivery.id} delivery={delivery} />
              ))}
            </ul>
            {meta.total > items.length && (
              <p class="actions">
                <span class="hint">{t('deliveriesInAll', { n: meta.total })}</span>
                {pageSize < 100 && (
                  <button type="button" class="plain" onClick={() => setShown(String(Math.min(100, pageSize * 3)))}>
                    {t('showMore')}
                  </button>
                )}
              </p>
            )}
          </>
        )}
      </Shown>
    </Section>
  );
}

function One({ delivery }: { delivery: Delivery }) {
  const { id, eventType, status, attemptCount, lastResponseStatus, lastError, nextAttemptAt } = delivery;
  const [isOpen, setOpen] = useState(false);
  const canWrite = useCanWrite();
  const redeliver = useWrite('deliveries.redeliver');
  return (
    <li>
      <details onToggle={(event) => setOpen(event.currentTarget.open)}>
        <summary>
          <Badge {...DELIVERY_STATUS[status]} />
          <strong>{eventType}</strong>
          <span class="hint">
            {t('attemptsMade', { n: attemptCount })}
            {lastResponseStatus !== null && t('lastAnswerLastResponseStatus', { lastResponseStatus })}
            {status === 'PENDING' && nextAttemptAt && <>, {rich('nextAt', { time: <Time at={nextAttemptAt} /> })}</>}
          </span>
          <Time at={delivery.createdAt} />
        </summary>
        {lastError && <p class="problem">{lastError}</p>}
        <h3>{t('attempts')}</h3>
        {delivery.attempts.length === 0 ? (
          <p class="hint">{t('noneYet')}</p>
        ) : (
          <ol class="attempts">
            {delivery.attempts.map(({ at, durationMs, responseStatus, error }) => (
              <li key={at}>
                <Time at={at} exact /> · {responseStatus ?? t('noAnswer')} · {wholeNumber(durationMs)} ms
                {error && <span class="problem">{error}</span>}
              </li>
            ))}
          </ol>
        )}
        <h3>{t('request')}</h3>
        {isOpen && <Request eventId={delivery.eventId} />}
        <div class="actions">
          {canWrite && status !== 'CANCELLED' && (
            <Act label={t('sendAgain')} write={redeliver} input={{ id }} done={() => t('deliverySentAgain')} />
          )}
          <Code text={id} what={t('theDeliverysId')} />
        </div>
      </details>
    </li>
  );
}

/** The body of the delivery, with the event's time as `timestamp`. */
function Request({ eventId }: { eventId: string }) {
  const event = useRead('events.get', { id: eventId }, { refetchInterval: 0, keepPrevious: false });
  return (
    <Shown query={event}>
      {({ id, type, sequence, createdAt, data }) => (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable with the keyboard.
        <pre tabIndex={0}>{JSON.stringify({ id, type, sequence, timestamp: createdAt, data }, null, 2)}</pre>
      )}
    </Shown>
  );
}
