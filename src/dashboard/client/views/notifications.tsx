/** Notifications: kinds, recipients, and whether e-mails arrive. */
import type { NoticeKind } from '../../../../contracts/notifications.js';
import { type Failure, failureOf, type Output, useRead, useWrite } from '../api.js';
import { useCanWrite } from '../parts/act.js';
import { Facts, Time } from '../parts/bits.js';
import { useDraft } from '../parts/draft.js';
import { Choice, Field, Form, type Values } from '../parts/form.js';
import { Page, Section, Shown } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { mailWord, NOTICE } from '../words.js';

type Told = Output<'notifications.get'>;

export function Notifications() {
  const told = useRead('notifications.get', {});
  return (
    <Page title="Notifications">
      <Shown query={told}>
        {(data) => (
          <>
            {!data.sending && (
              <p class="callout" role="status">
                This service does not send e-mail yet: its operator has not set a mail server (SMTP_URL). Until then,
                neither these e-mails nor receipts for customers are sent.
              </p>
            )}
            <Section title="E-mails to you">
              <Chosen told={data} />
            </Section>
            {data.lastFailure && (
              <Section title="Not delivered">
                <LastFailure failure={data.lastFailure} />
              </Section>
            )}
          </>
        )}
      </Shown>
    </Page>
  );
}

const OPTIONS = (Object.keys(NOTICE) as NoticeKind[]).map((value) => ({ value, ...NOTICE[value] }));

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
      say('Saved.');
    } catch {}
  };
  if (!useCanWrite()) {
    return (
      <Facts
        facts={[
          ['Told', kinds.map((kind) => NOTICE[kind].label).join(', ') || 'Nothing'],
          ['To', recipients.join(', ') || 'None'],
        ]}
      />
    );
  }
  return (
    <Form
      submit="Save"
      isBusy={write.isPending}
      failure={write.error ? inFields(failureOf(write.error), addressesIn(draft.first('recipients') ?? '')) : null}
      onSubmit={submit}
      draft={draft}
    >
      <Choice name="kinds" legend="Send an e-mail when" type="checkbox" value={kinds} options={OPTIONS} />
      <Field
        name="recipients"
        label="To these addresses"
        isLong
        value={recipients.join('\n')}
        hint="One per line, at most 20. Without an address, nothing is sent."
      />
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
      ['E-mail', mailWord(kind)],
      ['To', to],
      ['When', <Time key="at" at={at} exact />],
      ['Why', error],
      ['What happens', isFinal ? 'It is not retried.' : 'It is retried automatically.'],
    ]}
  />
);
