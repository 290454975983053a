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
import { t } from '../texts/texts.js';

type ApiKey = Item<'apiKeys.list'>;

const BACK = { href: '/api-keys', label: t('apiKeys') };

const Scope = ({ scope, expiresAt }: ApiKey) =>
  expiresAt !== null && new Date(expiresAt) <= new Date() ? (
    <Badge label={t('expired')} tone="quiet" />
  ) : scope === 'FULL' ? (
    <Badge label={t('full')} tone="good" />
  ) : (
    <Badge label={t('readOnly')} tone="quiet" />
  );

export function ApiKeys() {
  const keys = useRead('apiKeys.list', { page: usePage() });
  const session = useSession().data;
  const canWrite = useCanWrite();
  const [rotated, setRotated] = useState<Output<'apiKeys.rotate'> | null>(null);
  const columns: readonly Column<ApiKey>[] = [
    {
      title: t('name'),
      kind: 'main',
      cell: ({ id, name }) => (
        <>
          <bdi>{name}</bdi>
          {id === session?.keyId && <span class="hint"> {t('yoursInSession')}</span>}
        </>
      ),
    },
    { title: t('key'), cell: ({ keyMasked }) => <code>{keyMasked}</code> },
    { title: t('scope'), cell: (key) => <Scope {...key} /> },
    {
      title: t('lastUsed'),
      kind: 'wide',
      cell: ({ lastUsedAt }) => (lastUsedAt ? <Time at={lastUsedAt} /> : t('never')),
    },
    { title: t('ends'), kind: 'wide', cell: ({ expiresAt }) => (expiresAt ? <Time at={expiresAt} /> : t('never')) },
    ...(canWrite
      ? [
          {
            title: t('actions'),
            kind: 'actions' as const,
            cell: (key: ApiKey) => <KeyActions apiKey={key} isOwn={key.id === session?.keyId} onRotated={setRotated} />,
          },
        ]
      : []),
  ];
  return (
    <Page
      title={t('apiKeys')}
      actions={
        canWrite && (
          <LinkButton href="/api-keys/new" icon="plus">
            {t('newKey')}
          </LinkButton>
        )
      }
    >
      <List title={t('apiKeys')} query={keys} columns={columns} empty={t('noKeys')} />
      {rotated && <NewSecret secret={rotated.key} onClose={() => setRotated(null)} />}
    </Page>
  );
}

const NewSecret = ({ secret, onClose }: { secret: string | undefined; onClose: () => void }) => (
  <Once title={t('theNewKey')} secret={secret} what={t('theKey')} remedy={t('findListKeysReplace')} onClose={onClose}>
    <p>{t('notShownAgainSave')}</p>
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
  const own = isOwn && <p>{t('signedKeySessionEnds')}</p>;
  return (
    <span class="actions">
      {!isOwn && (
        <Ask
          label={t('replace')}
          title={t('replaceNameAsk', { name })}
          confirm={t('replace')}
          write={rotate}
          input={{ id }}
          done={t('nameNewKey', { name })}
          onDone={onRotated}
        >
          <p>{t('oldKeyStopsWorking')}</p>
        </Ask>
      )}
      <Ask
        label={t('revoke')}
        title={t('revokeNameAsk', { name })}
        confirm={t('revoke')}
        isDestructive
        write={revoke}
        input={{ id }}
        done={t('nameRevoked', { name })}
      >
        <p>{t('stopsWorkingOnceCannot')}</p>
        {own}
      </Ask>
    </span>
  );
}

const SCOPES = [
  { value: 'FULL', label: t('full'), hint: t('canSeeChangeEverything') },
  { value: 'READ', label: t('readOnly'), hint: t('canSeeEverythingBut') },
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
    <Page title={t('newApiKey')} back={BACK}>
      <p class="lead">{t('programShopsServerUses')}</p>
      <Form
        submit={t('createKey')}
        isBusy={create.isPending}
        failure={create.error ? failureOf(create.error) : null}
        onSubmit={submit}
        draft={draft}
      >
        <Field name="name" label={t('name')} hint={t('whatUsesShopServer')} />
        <Choice name="scope" legend={t('itMay')} type="radio" value={['READ']} options={SCOPES} />
        <Field name="expiresAt" label={t('lastDay')} type="date" isOptional hint={t('withoutKeyWorksUntil')} />
      </Form>
      {made && <NewSecret secret={made.key} onClose={() => navigate('/api-keys')} />}
    </Page>
  );
}
