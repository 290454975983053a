/** Notifications: kinds, recipients, and whether e-mails arrive. */
import type { NoticeKind } from '../../../../contracts/notifications.js';
import { type Failure, failureOf, type Output, useRead, useWrite } from '../api.js';
import { useCanWrite } from '../parts/act.js';
import { Facts, Time } from '../parts/bits.js';
import { useDraft } from '../parts/draft.js';
import { Choice, Field, Form, type Values } from '../parts/form.js';
import { Page, Section, Shown } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { t } from '../texts/texts.js';
import { mailWord, NOTICE_OPTIONS, noticeWord } from '../words.js';

type Told = Output<'notifications.get'>;

export function Notifications() {
  const told = useRead('notifications.get', {});
  return (
    <Page title={t('notifications')}>
      <Shown query={told}>
        {(data) => (
          <>
            {!data.sending && (
              <p class="callout" role="status">
                {t('serviceNotSendE')}
              </p>
            )}
            <Section title={t('eMailsToYou')}>
              <Chosen told={data} />
            </Section>
            {data.lastFailure && (
              <Section title={t('notDelivered')}>
                <LastFailure failure={data.lastFailure} />
              </Section>
            )}
          </>
        )}
      </Shown>
    </Page>
  );
}

function Chosen({ told: { recipients, kinds } }: { told: Told }) {
  const write = useWrite('notifications.set');
  const draft = useDraft('notifications');
  const submit = async (values: Values) => {
    try {
      await write.mutateAsync({
        recipients: addressesIn(values.text('recipients')),
        kinds: values.all('kinds') as NoticeKind[],
      });
      draft.forget();
      say(t('saved'));
    } catch {}
  };
  if (!useCanWrite()) {
    return (
      <Facts
        facts={[
          [t('told'), kinds.map((kind) => noticeWord(kind)).join(', ') || t('nothing')],
          [t('to'), recipients.join(', ') || t('noneOfThem')],
        ]}
      />
    );
  }
  return (
    <Form
      submit={t('save')}
      isBusy={write.isPending}
      failure={write.error ? inFields(failureOf(write.error), addressesIn(draft.first('recipients') ?? '')) : null}
      onSubmit={submit}
      draft={draft}
    >
      <Choice name="kinds" legend={t('sendEMailWhen')} type="checkbox" value={kinds} options={NOTICE_OPTIONS} />
      <Field name="recipients" label={t('toAddresses')} isLong value={recipients.join('\n')} hint={t('onePerLine')} />
    </Form>
  );
}

const addressesIn = (text: string): string[] => text.split(/[\s,;]+/).filter(Boolean);

/** Moves the fault of one address to the field that holds all addresses. */
function inFields(failure: Failure, addresses: readonly string[]): Failure {
  const [path, message] = Object.entries(failure.fields).find(([name]) => name.startsWith('recipients.')) ?? [];
  if (!path) return failure;
  const address = addresses[Number(path.split('.')[1])];
  const fault = address === undefined ? message! : `${address}: ${message}`;
  return { ...failure, fields: { ...failure.fields, recipients: fault } };
}

const LastFailure = ({ failure: { at, to, kind, error, isFinal } }: { failure: NonNullable<Told['lastFailure']> }) => (
  <Facts
    facts={[
      [t('eMail'), mailWord(kind)],
      [t('to'), to],
      [t('when'), <Time key="at" at={at} exact />],
      [t('why'), error],
      [t('whatHappens'), isFinal ? t('notRetried') : t('retriedAutomatically')],
    ]}
  />
);
