/** Health of a webhook: whether deliveries arrive, how many wait, how fast the endpoint answers; and a form that replays a period. */
import { useState } from 'preact/hooks';
import { failureOf, type Input, type Output, useRead, useWrite } from '../api.js';
import { grouped, plural, startOfDay } from '../format.js';
import { Badge, Facts, Time } from '../parts/bits.js';
import { Choice, Field, Form, type Values } from '../parts/form.js';
import { Section, Shown } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { WEBHOOK_HEALTH } from '../words.js';

export function Health({ webhookId }: { webhookId: string }) {
  const health = useRead('webhooks.health', { id: webhookId }, { refetchInterval: 10_000, keepPrevious: false });
  return (
    <Section title="Health">
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
            'Waiting',
            <>
              {grouped(String(pending))}
              {oldestPendingAt && (
                <>
                  , the oldest since <Time at={oldestPendingAt} />
                </>
              )}
            </>,
          ],
          ['Delivered in 24 h', grouped(String(health.delivered24h))],
          ['Failed in 24 h', grouped(String(health.failed24h))],
          ['Last delivered', lastDeliveredAt && <Time at={lastDeliveredAt} exact />],
          ['Last failure', lastFailureAt && <Time at={lastFailureAt} exact />],
          ['Because', lastError],
          [
            'Answers within',
            latencyMs.p50 !== null &&
              latencyMs.p95 !== null &&
              `${grouped(String(latencyMs.p50))} ms for half of them, ${grouped(String(latencyMs.p95))} ms for 95 in 100`,
          ],
        ]}
      />
    </>
  );
}

const WHAT = [
  { value: 'FAILED', label: 'Failed deliveries', hint: 'Deliveries that were given up are retried.' },
  {
    value: 'ALL',
    label: 'Everything',
    hint: 'Every event of that time is delivered again, including delivered ones.',
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
      say(
        replayed === 0 ? 'No deliveries to send again.' : `${plural(replayed, 'delivery', 'deliveries')} will be sent.`,
      );
      setRound(round + 1);
    } catch {}
  };
  return (
    <Section title="Send again">
      <Form
        key={round}
        submit="Send them again"
        isBusy={replay.isPending}
        failure={replay.error ? failureOf(replay.error) : null}
        onSubmit={submit}
      >
        <Choice name="status" legend="What" type="radio" value={['FAILED']} options={WHAT} />
        <Field name="from" label="From" type="date" isOptional hint="Without it, from the first event." />
        <Field name="to" label="To (included)" type="date" isOptional hint="Without it, up to now." />
      </Form>
    </Section>
  );
}
