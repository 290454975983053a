/** Users: people who may sign in here, with their roles. */
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import type { Language } from '../../../../contracts/languages.js';
import { usePage } from '../address.js';
import {
  chooseLanguage,
  type Failure,
  failureOf,
  type Item,
  type Output,
  useRead,
  useSession,
  useWrite,
} from '../api.js';
import { Ask, Once } from '../parts/act.js';
import { Badge, LinkButton, Time } from '../parts/bits.js';
import { useDraft } from '../parts/draft.js';
import { Choice, Field, Form, type Values } from '../parts/form.js';
import { type Column, List } from '../parts/list.js';
import { Loaded, Page, Section } from '../parts/page.js';
import { rich } from '../parts/rich.js';
import { say } from '../parts/toast.js';
import { addPasskey, useOnce } from '../passkey.js';
import { t } from '../texts/texts.js';
import { LANGUAGE_OPTIONS, ROLE_OPTIONS, roleWord } from '../words.js';

type User = Item<'users.list'>;

const BACK = { href: '/users', label: t('people') };

const COLUMNS: readonly Column<User>[] = [
  { title: t('name'), kind: 'main', cell: ({ name }) => <bdi>{name}</bdi> },
  { title: t('role'), cell: ({ role }) => roleWord(role) },
  {
    title: t('status'),
    cell: ({ status }) =>
      status === 'ACTIVE' ? <Badge label={t('active')} tone="good" /> : <Badge label={t('invited')} tone="quiet" />,
  },
  { title: t('eMail'), kind: 'wide', cell: ({ email }) => email ?? t('noneInText') },
  { title: t('since'), kind: 'wide', cell: ({ createdAt }) => <Time at={createdAt} /> },
];

export function Users() {
  const users = useRead('users.list', { page: usePage() });
  return (
    <Page
      title={t('people')}
      actions={
        <LinkButton href="/users/new" icon="plus">
          {t('invitePerson')}
        </LinkButton>
      }
    >
      <List
        title={t('people')}
        query={users}
        columns={COLUMNS}
        href={({ id }) => `/users/${id}`}
        empty={t('noPeopleYetInvite')}
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
    <Page title={t('invitePerson')} back={BACK}>
      <Form
        submit={t('createInvitation')}
        isBusy={create.isPending}
        failure={create.error ? failureOf(create.error) : null}
        onSubmit={submit}
        draft={draft}
      >
        <UserFields as="CASHIER" />
      </Form>
      {made && (
        <Once
          title={t('theInvitationTitle')}
          secret={made.url}
          what={t('theInvitation')}
          remedy={t('openPersonListInvite')}
          onClose={() => navigate('/users')}
        >
          <p>{t('sendLinkNameWorks', { name: made.name })}</p>
        </Once>
      )}
    </Page>
  );
}

const fieldsOf = (values: Values) => ({
  name: values.text('name'),
  role: values.text('role') as User['role'],
  email: values.orNull('email'),
  language: values.orNull('language') as User['language'],
});

const SPOKEN = [['', t('asBrowser')], ...LANGUAGE_OPTIONS] as const;

const UserFields = ({
  name = '',
  email = '',
  language = null,
  as,
}: Partial<Pick<User, 'name' | 'language'>> & { email?: string; as: User['role'] }) => (
  <>
    <Field name="name" label={t('name')} value={name} />
    <Choice name="role" legend={t('theyMay')} type="radio" value={[as]} options={ROLE_OPTIONS} />
    <Field name="email" label={t('eMailAddress')} isOptional value={email} />
    <Field name="language" label={t('language')} options={SPOKEN} value={language ?? ''} />
  </>
);

export function User({ id }: { id: string }) {
  const user = useRead('users.get', { id });
  return (
    <Loaded query={user} title={t('user')} back={BACK}>
      {(found) => <Details user={found} />}
    </Loaded>
  );
}

/** What everybody may do about themselves. */
export function Me() {
  const user = useSession().data?.user;
  return (
    <Page title={user?.name ?? t('noUser')}>
      {user ? (
        <>
          <Speaking language={user.language} />
          <Passkeys user={user} />
        </>
      ) : (
        <p>{t('signedApiKeyNo')}</p>
      )}
    </Page>
  );
}

/** One's own language. */
function Speaking({ language }: { language: Language | null }) {
  const choose = useOnce(async (chosen: string) => {
    const failure = await chooseLanguage((chosen || null) as Language | null);
    if (failure) say(failure.message, { isBad: true });
  });
  return (
    <Section title={t('language')}>
      <select
        aria-label={t('language')}
        value={language ?? ''}
        onChange={({ currentTarget }) => void choose(currentTarget.value)}
      >
        {SPOKEN.map(([value, label]) => (
          <option key={value} value={value} selected={value === (language ?? '')}>
            {label}
          </option>
        ))}
      </select>
    </Section>
  );
}

function AddPasskey({ id, onDone }: { id: string; onDone: () => unknown }) {
  const invite = useWrite('users.invite');
  const [failure, setFailure] = useState<Failure | null>(null);
  const add = useOnce(async () => {
    setFailure(null);
    const refused = await addPasskey(() => invite.mutateAsync({ id }));
    if (refused) return setFailure(refused);
    say(t('passkeyAdded'));
    await onDone();
  });
  return (
    <>
      <button type="button" onClick={() => void add()}>
        {t('addPasskey')}
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
    <Section title={t('passkeys')}>
      {passkeys.data?.length === 0 && <p class="hint">{t('noneYetNameNot', { name })}</p>}
      {passkeys.data?.map((passkey) => (
        <div key={passkey.id} class="actions">
          <span>
            {rich('passkeyMade', { name: passkey.name, time: <Time at={passkey.createdAt} /> })},{' '}
            {passkey.lastUsedAt ? rich('lastUsedAt', { time: <Time at={passkey.lastUsedAt} /> }) : t('notUsedYet')}
          </span>
          <Ask
            label={t('removeName', { name: passkey.name })}
            title={t('removePasskeyOfAsk', { passkey: passkey.name, name })}
            confirm={t('remove')}
            isDestructive
            write={remove}
            input={{ id, passkeyId: passkey.id }}
            done={t('passkeyRemoved')}
          >
            <p>{t('signsNoMoreName', { name })}</p>
          </Ask>
        </div>
      ))}
      <div class="actions">
        {isMe && <AddPasskey id={id} onDone={passkeys.refetch} />}
        <Ask
          label={isMe ? t('inviteAnotherDevice') : t('inviteAgain')}
          title={isMe ? t('makeLinkAnotherDeviceAsk') : t('inviteNameAgainAsk', { name })}
          confirm={t('createInvitation')}
          write={invite}
          input={{ id }}
          done={t('invitationMade')}
          onDone={setMade}
        >
          <p>{t('anotherDeviceWherePasskey')}</p>
        </Ask>
      </div>
      {made && (
        <Once
          title={t('theInvitationTitle')}
          secret={made.url}
          what={t('theInvitation')}
          remedy={t('inviteAgainDone')}
          onClose={() => setMade(null)}
        >
          <p>
            {isMe ? t('openLinkOtherDevice') : t('sendLinkName', { name })} {t('addsOnePasskey')}
          </p>
        </Once>
      )}
    </Section>
  );
}

function Details({ user }: { user: User }) {
  const { id, name, email, role, language } = user;
  const update = useWrite('users.update');
  const remove = useWrite('users.delete');
  const isMe = useSession().data?.user?.id === id;
  const [, navigate] = useLocation();
  const submit = async (values: Values) => {
    try {
      await update.mutateAsync({ id, ...fieldsOf(values) });
      say(t('saved'));
    } catch {}
  };
  return (
    <Page title={name} back={BACK} about={id}>
      <Section title={t('change')}>
        <p class="hint">{isMe ? t('afterChangeSignAgain') : t('afterChangeSignAgainDone')}</p>
        <Form
          submit={t('save')}
          isBusy={update.isPending}
          failure={update.error ? failureOf(update.error) : null}
          onSubmit={submit}
        >
          <UserFields name={name} email={email ?? ''} language={language} as={role} />
        </Form>
      </Section>
      <Passkeys user={user} />
      <Section title={t('remove')}>
        <Ask
          label={t('removeName', { name })}
          title={t('removeNameAsk', { name })}
          confirm={t('remove')}
          isDestructive
          write={remove}
          input={{ id }}
          done={t('nameRemoved', { name })}
          onDone={() => navigate('/users')}
        >
          <p>{t('signedOutOnceCheckouts')}</p>
        </Ask>
      </Section>
    </Page>
  );
}
