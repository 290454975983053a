/** A webhook's deliveries, each with its request, its attempts and a button to resend it. */
import { useState } from 'preact/hooks';
import { useParam } from '../address.js';
import { type Item, useRead, useWrite } from '../api.js';
import { plural } from '../format.js';
import { Act, useCanWrite } from '../parts/act.js';
import { Badge, Code, Time } from '../parts/bits.js';
import { Tabs } from '../parts/filters.js';
import { Section, Shown } from '../parts/page.js';
import { DELIVERY_STATUS } from '../words.js';

type Delivery = Item<'webhooks.deliveries'>;

const STATUSES = ['PENDING', 'DELIVERED', 'FAILED', 'CANCELLED'] as const;
const TABS = [['', 'All'], ...STATUSES.map((status) => [status, DELIVERY_STATUS[status].label] as const)] as const;

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
    <Section title="Deliveries">
      <Tabs label="Status" options={TABS} value={known ?? ''} set={setStatus} />
      <Shown query={deliveries}>
        {({ items, meta }) => (
          <>
            {items.length === 0 && <p class="empty">{known ? 'No deliveries match.' : 'No deliveries yet.'}</p>}
            <ul class="deliveries">
              {items.map((delivery) => (
                <One key={delivery.id} delivery={delivery} />
              ))}
            </ul>
            {meta.total > items.length && (
              <p class="actions">
                <span class="hint">{plural(meta.total, 'delivery', 'deliveries')} in all.</span>
                {pageSize < 100 && (
                  <button type="button" class="plain" onClick={() => setShown(String(Math.min(100, pageSize * 3)))}>
                    Show more
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
            {plural(attemptCount, 'attempt')}
            {lastResponseStatus !== null && `, last answer ${lastResponseStatus}`}
            {status === 'PENDING' && nextAttemptAt && (
              <>
                , next <Time at={nextAttemptAt} />
              </>
            )}
          </span>
          <Time at={delivery.createdAt} />
        </summary>
        {lastError && <p class="problem">{lastError}</p>}
        <h3>Attempts</h3>
        {delivery.attempts.length === 0 ? (
          <p class="hint">None yet.</p>
        ) : (
          <ol class="attempts">
            {delivery.attempts.map(({ at, durationMs, responseStatus, error }) => (
              <li key={at}>
                <Time at={at} exact /> · {responseStatus ?? 'no answer'} · {durationMs.toLocaleString('en')} ms
                {error && <span class="problem">{error}</span>}
              </li>
            ))}
          </ol>
        )}
        <h3>Request</h3>
        {isOpen && <Request eventId={delivery.eventId} />}
        <div class="actions">
          {canWrite && status !== 'CANCELLED' && (
            <Act label="Send again" write={redeliver} input={{ id }} done={() => 'The delivery is sent again.'} />
          )}
          <Code text={id} what="the delivery’s id" />
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
