/** One webhook: its health, secret and deliveries, and the form that also creates webhooks. */
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { failureOf, type Item, type Output, useRead, useWrite } from '../api.js';
import { Act, Ask, Delete, Once, Toggle, useCanWrite } from '../parts/act.js';
import { Code, Facts, Time } from '../parts/bits.js';
import { useDraft } from '../parts/draft.js';
import { Choice, Field, Form, type Values } from '../parts/form.js';
import { Loaded, Page, Section } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { EVENT_TYPE, EVENT_TYPES } from '../words.js';
import { Deliveries, Health, Replay } from './deliveries.js';
import { WebhookBadge } from './webhooks.js';

type Webhook = Item<'webhooks.list'>;

const BACK = { href: '/webhooks', label: 'Webhooks' };

export function NewWebhook() {
  const [made, setMade] = useState<Output<'webhooks.create'> | null>(null);
  const [, navigate] = useLocation();
  return (
    <Page title="New webhook" back={BACK}>
      <p class="lead">
        A webhook notifies your shop’s server of payments. People do not need one: they see payments here, or get
        e-mails.
      </p>
      <WebhookForm webhook={null} onCreated={setMade} />
      {made && (
        <Once
          title="The signing secret"
          secret={made.secret}
          what="the signing secret"
          remedy="Replace it on the webhook’s page."
          onClose={() => navigate(`/webhooks/${made.id}`)}
        >
          <p>
            Your shop’s server needs it to verify that messages come from this service. It is not shown again: save it
            now, for the setup of that server.
          </p>
        </Once>
      )}
    </Page>
  );
}

function WebhookForm({
  webhook,
  onCreated,
}: {
  webhook: Webhook | null;
  onCreated?: (made: Output<'webhooks.create'>) => void;
}) {
  const create = useWrite('webhooks.create');
  const update = useWrite('webhooks.update');
  const write = webhook ? update : create;
  const draft = useDraft(`webhook:${webhook?.id ?? 'new'}`);
  const submit = async (values: Values) => {
    const events = values.all('events') as Webhook['events'];
    const fields = { name: values.text('name'), url: values.text('url'), events };
    try {
      if (webhook) {
        await update.mutateAsync({ id: webhook.id, ...fields });
        draft.forget();
        say('Saved.');
      } else {
        const made = await create.mutateAsync(fields);
        draft.forget();
        onCreated?.(made);
      }
    } catch {}
  };
  return (
    <Form
      submit={webhook ? 'Save' : 'Create the webhook'}
      isBusy={write.isPending}
      failure={write.error ? failureOf(write.error) : null}
      onSubmit={submit}
      draft={draft}
    >
      <Field name="name" label="Name" value={webhook?.name ?? ''} hint="For yourself." />
      <Field
        name="url"
        label="Endpoint URL"
        inputMode="url"
        placeholder="https://…"
        value={webhook?.url ?? ''}
        hint="On your shop’s server: its developer knows the URL."
      />
      <Choice
        name="events"
        legend="Send an event when"
        type="checkbox"
        value={webhook?.events ?? ['payment.completed']}
        options={EVENT_TYPES.map((type) => ({ value: type, label: EVENT_TYPE[type], hint: type }))}
      />
    </Form>
  );
}

export function Webhook({ id }: { id: string }) {
  const webhook = useRead('webhooks.get', { id }, { keepPrevious: false });
  return (
    <Loaded query={webhook} title="Webhook" back={BACK}>
      {(data) => <Details webhook={data} />}
    </Loaded>
  );
}

function Details({ webhook }: { webhook: Webhook }) {
  const { id, name, url, status } = webhook;
  const canWrite = useCanWrite();
  const { mutateAsync } = useWrite('webhooks.update');
  const test = useWrite('webhooks.test');
  const remove = useWrite('webhooks.delete');
  return (
    <Page
      title={name}
      about={id}
      back={BACK}
      badge={<WebhookBadge id={id} status={status} />}
      actions={
        canWrite && (
          <>
            <Toggle
              what={`Deliver to ${name}`}
              isOn={status === 'ACTIVE'}
              on="Delivers"
              off="Paused"
              set={(isOn) => mutateAsync({ id, status: isOn ? 'ACTIVE' : 'PAUSED' })}
            />
            <Act label="Send a test" write={test} input={{ id }} done={toldOfTest} />
          </>
        )
      }
    >
      {status === 'PAUSED' && <p class="lead">Its deliveries wait, and are sent when it is switched on again.</p>}
      <Facts
        facts={[
          ['Endpoint URL', <Code key="url" text={url} what="the URL" whole />],
          ['Signing secret', <code key="secret">{webhook.secretMasked}</code>],
          ['Created', <Time key="made" at={webhook.createdAt} exact />],
          ['Webhook id', <Code key="id" text={id} what="the webhook’s id" whole />],
        ]}
      />
      {test.data && <TestResult result={test.data} />}
      <Health webhookId={id} />
      <Deliveries webhookId={id} />
      {canWrite && (
        <>
          <Replay webhookId={id} />
          <Section title="Change">
            <WebhookForm webhook={webhook} />
          </Section>
          <Secrets id={id} />
          <Section title="Delete">
            <Delete what="webhook" name={name} id={id} write={remove} to="/webhooks">
              <p>Its endpoint gets no more events, and pending deliveries are cancelled.</p>
            </Delete>
          </Section>
        </>
      )}
    </Page>
  );
}

type Result = Output<'webhooks.test'>;

const toldOfTest = ({ responseStatus, error }: Result): string =>
  error === null ? `The endpoint answered ${responseStatus}.` : `The test failed: ${error}`;

const TestResult = ({ result }: { result: Result }) => (
  <p class={result.error === null ? 'callout good' : 'callout bad'}>
    {toldOfTest(result)} It took {result.durationMs.toLocaleString('en')} ms.
  </p>
);

function Secrets({ id }: { id: string }) {
  const rotate = useWrite('webhooks.rotateSecret');
  const end = useWrite('webhooks.deletePreviousSecret');
  const [rotated, setRotated] = useState<Output<'webhooks.rotateSecret'> | null>(null);
  return (
    <Section title="Signing secret">
      <p class="hint">With it your shop’s server verifies that messages come from this service.</p>
      <div class="actions">
        <Ask
          label="Replace it"
          title="Replace the signing secret?"
          confirm="Replace it"
          write={rotate}
          input={{ id }}
          done="The signing secret is replaced."
          onDone={setRotated}
        >
          <p>
            For 24 hours requests are signed with the old and the new secret, so that you can change it at your server
            in peace.
          </p>
        </Ask>
        <Ask
          label="End older secrets"
          title="End older secrets now?"
          confirm="End them"
          isDestructive
          write={end}
          input={{ id }}
          done="Only the newest secret signs."
        >
          <p>For a leaked secret. A server that still uses an older one refuses messages from now on.</p>
        </Ask>
      </div>
      {rotated && (
        <Once
          title="The new signing secret"
          secret={rotated.secret}
          what="the signing secret"
          remedy="Replace it once more."
          onClose={() => setRotated(null)}
        >
          <p>It is not shown again: save it now.</p>
        </Once>
      )}
    </Section>
  );
}
