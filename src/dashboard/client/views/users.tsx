/** Users: people who may sign in here, with their roles. */
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { usePage } from '../address.js';
import { type Failure, failureOf, type Item, type Output, useRead, useSession, useWrite } from '../api.js';
import { Ask, Once } from '../parts/act.js';
import { Badge, LinkButton, Time } from '../parts/bits.js';
import { useDraft } from '../parts/draft.js';
import { Choice, Field, Form, type Values } from '../parts/form.js';
import { type Column, List } from '../parts/list.js';
import { Loaded, Page, Section } from '../parts/page.js';
import { say } from '../parts/toast.js';
import { acceptInvitation, invitedBy, useOnce } from '../passkey.js';
import { ROLE } from '../words.js';

type User = Item<'users.list'>;

const BACK = { href: '/users', label: 'People' };
const ROLES = Object.entries(ROLE).map(([value, { label, sentence }]) => ({ value, label, hint: sentence }));

const COLUMNS: readonly Column<User>[] = [
  { title: 'Name', kind: 'main', cell: ({ name }) => <bdi>{name}</bdi> },
  { title: 'Role', cell: ({ role }) => ROLE[role].label },
  {
    title: 'Status',
    cell: ({ status }) =>
      status === 'ACTIVE' ? <Badge label="Active" tone="good" /> : <Badge label="Invited" tone="quiet" />,
  },
  { title: 'E-mail', kind: 'wide', cell: ({ email }) => email ?? 'none' },
  { title: 'Since', kind: 'wide', cell: ({ createdAt }) => <Time at={createdAt} /> },
];

export function Users() {
  const users = useRead('users.list', { page: usePage() });
  return (
    <Page
      title="People"
      actions={
        <LinkButton href="/users/new" icon="plus">
          Invite a person
        </LinkButton>
      }
    >
      <List
        title="People"
        query={users}
        columns={COLUMNS}
        href={({ id }) => `/users/${id}`}
        empty="No people yet. Invite your team: each person signs in with a passkey."
      />
    </Page>
  );
}

export function NewUser() {
  const create = useWrite('users.create');
  const draft = useDraft('user:new');
  const [made, setMade] = useState<Output<'users.create'> | null>(null);
  const [, navigate] = useLocation();
  const submit = async (values: Values) => {
    try {
      const user = await create.mutateAsync(fieldsOf(values));
      draft.forget();
      setMade(user);
    } catch {}
  };
  return (
    <Page title="Invite a person" back={BACK}>
      <Form
        submit="Create the invitation"
        isBusy={create.isPending}
        failure={create.error ? failureOf(create.error) : null}
        onSubmit={submit}
        draft={draft}
      >
        <UserFields as="CASHIER" />
      </Form>
      {made && (
        <Once
          title="The invitation"
          secret={made.url}
          what="the invitation"
          remedy="Open the person in the list, and invite them again."
          onClose={() => navigate('/users')}
        >
          <p>
            Send this link to {made.name}. It works once, within 72 hours, and is not shown again. The link alone gives
            access.
          </p>
        </Once>
      )}
    </Page>
  );
}

const fieldsOf = (values: Values) => ({
  name: values.text('name'),
  role: values.text('role') as User['role'],
  email: values.orNull('email'),
});

const UserFields = ({ name = '', email = '', as }: { name?: string; email?: string; as: User['role'] }) => (
  <>
    <Field name="name" label="Name" value={name} />
    <Choice name="role" legend="They may" type="radio" value={[as]} options={ROLES} />
    <Field name="email" label="E-mail address" isOptional value={email} />
  </>
);

export function User({ id }: { id: string }) {
  const user = useRead('users.get', { id });
  return (
    <Loaded query={user} title="User" back={BACK}>
      {(found) => <Details user={found} />}
    </Loaded>
  );
}

/** What everybody may do about themselves. */
export function Me() {
  const user = useSession().data?.user;
  return (
    <Page title={user?.name ?? 'No user'}>
      {user ? <Passkeys user={user} /> : <p>You are signed in with an API key, which is no person.</p>}
    </Page>
  );
}

/** One's own further passkey needs no link: the invitation is accepted here. */
function AddPasskey({ id, onDone }: { id: string; onDone: () => unknown }) {
  const invite = useWrite('users.invite');
  const [failure, setFailure] = useState<Failure | null>(null);
  const add = useOnce(async () => {
    setFailure(null);
    try {
      const token = (await invite.mutateAsync({ id })).url.split('/').at(-1)!;
      const invited = await invitedBy(token);
      const refused = 'failure' in invited ? invited.failure : await acceptInvitation(token, invited.data);
      if (refused) return setFailure(refused);
      say('The passkey is added.');
      await onDone();
    } catch (error) {
      setFailure(failureOf(error));
    }
  });
  return (
    <>
      <button type="button" onClick={() => void add()}>
        Add a passkey
      </button>
      {failure && (
        <p class="problem" role="alert">
          {failure.message}
        </p>
      )}
    </>
  );
}

function Passkeys({ user: { id, name } }: { user: Pick<User, 'id' | 'name'> }) {
  const isMe = useSession().data?.user?.id === id;
  const passkeys = useRead('users.passkeys', { id });
  const invite = useWrite('users.invite');
  const remove = useWrite('users.deletePasskey');
  const [made, setMade] = useState<Output<'users.invite'> | null>(null);
  return (
    <Section title="Passkeys">
      {passkeys.data?.length === 0 && <p class="hint">None yet: {name} has not used the invitation.</p>}
      {passkeys.data?.map((passkey) => (
        <div key={passkey.id} class="actions">
          <span>
            {passkey.name}, made <Time at={passkey.createdAt} />
            {passkey.lastUsedAt ? (
              <>
                , last used <Time at={passkey.lastUsedAt} />
              </>
            ) : (
              ', not used since'
            )}
          </span>
          <Ask
            label={`Remove ${passkey.name}`}
            title={`Remove ${passkey.name} of ${name}?`}
            confirm="Remove"
            isDestructive
            write={remove}
            input={{ id, passkeyId: passkey.id }}
            done="The passkey is removed."
          >
            <p>It signs in no more, and {name} is signed out everywhere.</p>
          </Ask>
        </div>
      ))}
      <div class="actions">
        {isMe && <AddPasskey id={id} onDone={passkeys.refetch} />}
        <Ask
          label={isMe ? 'Invite another device' : 'Invite again'}
          title={isMe ? 'Make a link for another device?' : `Invite ${name} again?`}
          confirm="Create the invitation"
          write={invite}
          input={{ id }}
          done="The invitation is made."
          onDone={setMade}
        >
          <p>For another device, or where a passkey was lost. Name, role and sales stay.</p>
        </Ask>
      </div>
      {made && (
        <Once
          title="The invitation"
          secret={made.url}
          what="the invitation"
          remedy="Invite them again."
          onClose={() => setMade(null)}
        >
          <p>
            {isMe ? 'Open this link on the other device.' : `Send this link to ${name}.`} It adds one passkey, within 72
            hours, and is not shown again.
          </p>
        </Once>
      )}
    </Section>
  );
}

function Details({ user }: { user: User }) {
  const { id, name, email, role } = user;
  const update = useWrite('users.update');
  const remove = useWrite('users.delete');
  const isMe = useSession().data?.user?.id === id;
  const [, navigate] = useLocation();
  const submit = async (values: Values) => {
    try {
      await update.mutateAsync({ id, ...fieldsOf(values) });
      say('Saved.');
    } catch {}
  };
  return (
    <Page title={name} back={BACK} about={id}>
      <Section title="Change">
        <p class="hint">
          {isMe ? 'After a change, you have to sign in again.' : 'After a change, they have to sign in again.'}
        </p>
        <Form
          submit="Save"
          isBusy={update.isPending}
          failure={update.error ? failureOf(update.error) : null}
          onSubmit={submit}
        >
          <UserFields name={name} email={email ?? ''} as={role} />
        </Form>
      </Section>
      <Passkeys user={user} />
      <Section title="Remove">
        <Ask
          label={`Remove ${name}`}
          title={`Remove ${name}?`}
          confirm="Remove"
          isDestructive
          write={remove}
          input={{ id }}
          done={`${name} is removed.`}
          onDone={() => navigate('/users')}
        >
          <p>They are signed out at once. Their checkouts stay.</p>
        </Ask>
      </Section>
    </Page>
  );
}
