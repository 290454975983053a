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
import { t } from '../texts/texts.js';
import { EVENT_TYPES, eventWord } from '../words.js';
import { Deliveries, Health, Replay } from './deliveries.js';
import { WebhookBadge } from './webhooks.js';

type Webhook = Item<'webhooks.list'>;

const BACK = { href: '/webhooks', label: t('webhooks') };

export function NewWebhook() {
  const [made, setMade] = useState<Output<'webhooks.create'> | null>(null);
  const [, navigate] = useLocation();
  return (
    <Page title={t('newWebhook')} back={BACK}>
      <p class="lead">{t('webhookNotifiesShopsServer')}</p>
      <WebhookForm webhook={null} onCreated={setMade} />
      {made && (
        <Once
          title={t('theSigningSecretTitle')}
          secret={made.secret}
          what={t('theSigningSecret')}
          remedy={t('replaceWebhooksPage')}
          onClose={() => navigate(`/webhooks/${made.id}`)}
        >
          <p>{t('shopsServerNeedsVerify')}</p>
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
        say(t('saved'));
      } else {
        const made = await create.mutateAsync(fields);
        draft.forget();
        onCreated?.(made);
      }
    } catch {}
  };
  return (
    <Form
      submit={webhook ? t('save') : t('createWebhook')}
      isBusy={write.isPending}
      failure={write.error ? failureOf(write.error) : null}
      onSubmit={submit}
      draft={draft}
    >
      <Field name="name" label={t('name')} value={webhook?.name ?? ''} hint={t('forYourself')} />
      <Field
        name="url"
        label={t('endpointUrl')}
        inputMode="url"
        placeholder="https://…"
        value={webhook?.url ?? ''}
        hint={t('shopsServerDeveloperKnows')}
      />
      <Choice
        name="events"
        legend={t('sendEventWhen')}
        type="checkbox"
        value={webhook?.events ?? ['payment.completed']}
        options={EVENT_TYPES.map((type) => ({ value: type, label: eventWord(type), hint: type }))}
      />
    </Form>
  );
}

export function Webhook({ id }: { id: string }) {
  const webhook = useRead('webhooks.get', { id }, { keepPrevious: false });
  return (
    <Loaded query={webhook} title={t('webhook')} back={BACK}>
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
              what={t('deliverName', { name })}
              isOn={status === 'ACTIVE'}
              on={t('delivers')}
              off={t('paused')}
              set={(isOn) => mutateAsync({ id, status: isOn ? 'ACTIVE' : 'PAUSED' })}
            />
            <Act label={t('sendTest')} write={test} input={{ id }} done={toldOfTest} />
          </>
        )
      }
    >
      {status === 'PAUSED' && <p class="lead">{t('deliveriesWaitSentWhen')}</p>}
      <Facts
        facts={[
          [t('endpointUrl'), <Code key="url" text={url} what={t('theUrl')} whole />],
          [t('signingSecret'), <code key="secret">{webhook.secretMasked}</code>],
          [t('created'), <Time key="made" at={webhook.createdAt} exact />],
          [t('webhookId'), <Code key="id" text={id} what={t('theWebhooksId')} whole />],
        ]}
      />
      {test.data && <TestResult result={test.data} />}
      <Health webhookId={id} />
      <Deliveries webhookId={id} />
      {canWrite && (
        <>
          <Replay webhookId={id} />
          <Section title={t('change')}>
            <WebhookForm webhook={webhook} />
          </Section>
          <Secrets id={id} />
          <Section title={t('delete')}>
            <Delete label={t('deleteTheWebhook')} name={name} id={id} write={remove} to="/webhooks">
              <p>{t('endpointGetsNoMore')}</p>
            </Delete>
          </Section>
        </>
      )}
    </Page>
  );
}

type Result = Output<'webhooks.test'>;

const toldOfTest = ({ responseStatus, error }: Result): string =>
  error === null
    ? t('endpointAnsweredResponseStatus', { responseStatus: responseStatus ?? 0 })
    : t('testFailedError', { error });

const TestResult = ({ result }: { result: Result }) => (
  <p class={result.error === null ? 'callout good' : 'callout bad'}>
    {toldOfTest(result)} {t('tookMs', { ms: result.durationMs })}
  </p>
);

function Secrets({ id }: { id: string }) {
  const rotate = useWrite('webhooks.rotateSecret');
  const end = useWrite('webhooks.deletePreviousSecret');
  const [rotated, setRotated] = useState<Output<'webhooks.rotateSecret'> | null>(null);
  return (
    <Section title={t('signingSecret')}>
      <p class="hint">{t('shopsServerVerifiesMessages')}</p>
      <div class="actions">
        <Ask
          label={t('replaceIt')}
          title={t('replaceSigningSecretAsk')}
          confirm={t('replaceIt')}
          write={rotate}
          input={{ id }}
          done={t('signingSecretReplaced')}
          onDone={setRotated}
        >
          <p>{t('for24HoursRequests')}</p>
        </Ask>
        <Ask
          label={t('endOlderSecrets')}
          title={t('endOlderSecretsNowAsk')}
          confirm={t('endThem')}
          isDestructive
          write={end}
          input={{ id }}
          done={t('onlyNewestSecretSigns')}
        >
          <p>{t('leakedSecretServerStill')}</p>
        </Ask>
      </div>
      {rotated && (
        <Once
          title={t('newSigningSecret')}
          secret={rotated.secret}
          what={t('theSigningSecret')}
          remedy={t('replaceOnceMore')}
          onClose={() => setRotated(null)}
        >
          <p>{t('notShownAgainSaveNow')}</p>
        </Once>
      )}
    </Section>
  );
}
