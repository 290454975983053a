/** API keys, which authorize calls and sign in here. */
import { useState } from 'preact/hooks';
import { useLocation } from 'wouter-preact';
import { usePage } from '../address.js';
import { failureOf, type Item, type Output, useRead, useSession, useWrite } from '../api.js';
import { startOfDay } from '../format.js';
import { Ask, Once, useCanWrite } from '../parts/act.js';
import { Badge, LinkButton, Time } from '../parts/bits.js';
import { useDraft } from '../parts/draft.js';
import { Choice, Field, Form, type Values } from '../parts/form.js';
import { type Column, List } from '../parts/list.js';
import { Page } from '../parts/page.js';

type ApiKey = Item<'apiKeys.list'>;

const BACK = { href: '/api-keys', label: 'API keys' };

const Scope = ({ scope, expiresAt }: ApiKey) =>
  expiresAt !== null && new Date(expiresAt) <= new Date() ? (
    <Badge label="Expired" tone="quiet" />
  ) : scope === 'FULL' ? (
    <Badge label="Full" tone="good" />
  ) : (
    <Badge label="Read only" tone="quiet" />
  );

export function ApiKeys() {
  const keys = useRead('apiKeys.list', { page: usePage() });
  const session = useSession().data;
  const canWrite = useCanWrite();
  const [rotated, setRotated] = useState<Output<'apiKeys.rotate'> | null>(null);
  const columns: readonly Column<ApiKey>[] = [
    {
      title: 'Name',
      kind: 'main',
      cell: ({ id, name }) => (
        <>
          <bdi>{name}</bdi>
          {id === session?.keyId && <span class="hint"> (yours, in this session)</span>}
        </>
      ),
    },
    { title: 'Key', cell: ({ keyMasked }) => <code>{keyMasked}</code> },
    { title: 'Scope', cell: (key) => <Scope {...key} /> },
    { title: 'Last used', kind: 'wide', cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : 'never') },
    { title: 'Ends', kind: 'wide', cell: ({ expiresAt }) => (expiresAt ? <Time at={expiresAt} /> : 'never') },
    ...(canWrite
      ? [
          {
            title: 'Actions',
            kind: 'actions' as const,
            cell: (key: ApiKey) => <KeyActions apiKey={key} isOwn={key.id === session?.keyId} onRotated={setRotated} />,
          },
        ]
      : []),
  ];
  return (
    <Page
      title="API keys"
      actions={
        canWrite && (
          <LinkButton href="/api-keys/new" icon="plus">
            New key
          </LinkButton>
        )
      }
    >
      <List title="API keys" query={keys} columns={columns} empty="No keys." />
      {rotated && <NewSecret secret={rotated.key} onClose={() => setRotated(null)} />}
    </Page>
  );
}

const NewSecret = ({ secret, onClose }: { secret: string | undefined; onClose: () => void }) => (
  <Once
    title="The new key"
    secret={secret}
    what="the key"
    remedy="Find it in the list of keys, and replace it."
    onClose={onClose}
  >
    <p>It is not shown again: save it now, and keep it secret.</p>
  </Once>
);

function KeyActions({
  apiKey: { id, name },
  isOwn,
  onRotated,
}: {
  apiKey: ApiKey;
  isOwn: boolean;
  onRotated: (made: Output<'apiKeys.rotate'>) => void;
}) {
  const rotate = useWrite('apiKeys.rotate');
  const revoke = useWrite('apiKeys.delete');
  const own = isOwn && <p>You are signed in with this key: your session ends with it.</p>;
  return (
    <span class="actions">
      {!isOwn && (
        <Ask
          label="Replace"
          title={`Replace ${name}?`}
          confirm="Replace"
          write={rotate}
          input={{ id }}
          done={`${name} has a new key.`}
          onDone={onRotated}
        >
          <p>The old key stops working at once. Programs that use it need the new one.</p>
        </Ask>
      )}
      <Ask
        label="Revoke"
        title={`Revoke ${name}?`}
        confirm="Revoke"
        isDestructive
        write={revoke}
        input={{ id }}
        done={`${name} is revoked.`}
      >
        <p>It stops working at once and cannot be restored.</p>
        {own}
      </Ask>
    </span>
  );
}

const SCOPES = [
  { value: 'FULL', label: 'Full', hint: 'Can see and change everything in this account.' },
  { value: 'READ', label: 'Read only', hint: 'Can see everything but change nothing.' },
];

export function NewApiKey() {
  const create = useWrite('apiKeys.create');
  const [made, setMade] = useState<Output<'apiKeys.create'> | null>(null);
  const [, navigate] = useLocation();
  const draft = useDraft('api-key:new');
  const submit = async (values: Values) => {
    const day = values.text('expiresAt');
    try {
      const key = await create.mutateAsync({
        name: values.text('name'),
        scope: values.text('scope') as ApiKey['scope'],
        expiresAt: day ? startOfDay(day, 1).toISOString() : null,
      });
      draft.forget();
      setMade(key);
    } catch {}
  };
  return (
    <Page title="New API key" back={BACK}>
      <p class="lead">
        A program, such as your shop’s server, uses this account with a key. Invite people under “People” instead.
      </p>
      <Form
        submit="Create the key"
        isBusy={create.isPending}
        failure={create.error ? failureOf(create.error) : null}
        onSubmit={submit}
        draft={draft}
      >
        <Field name="name" label="Name" hint="What uses it, such as “shop server”." />
        <Choice name="scope" legend="It may" type="radio" value={['READ']} options={SCOPES} />
        <Field
          name="expiresAt"
          label="Last day"
          type="date"
          isOptional
          hint="Without one, the key works until it is revoked."
        />
      </Form>
      {made && <NewSecret secret={made.key} onClose={() => navigate('/api-keys')} />}
    </Page>
  );
}
