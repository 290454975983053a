/** Activity: who changed what, newest first. */
import { Link } from 'wouter-preact';
import { usePage, useParam } from '../address.js';
import { type Item, useRead } from '../api.js';
import { short, startOfDay } from '../format.js';
import { Time } from '../parts/bits.js';
import { Filters, Search, Select } from '../parts/filters.js';
import { type Column, List } from '../parts/list.js';
import { Page } from '../parts/page.js';
import { t } from '../texts/texts.js';
import { ACTIVITY_OPTIONS, activityWords, fieldWord } from '../words.js';

type Activity = Item<'activity.list'>;
type Change = Activity['changes'][number];

/** Views of subjects, by the prefix of their ids. */
const VIEWS: Readonly<Record<string, string>> = {
  prod: '/products',
  link: '/links',
  chk: '/checkouts',
  pay: '/payments',
  wallet: '/wallets',
  hook: '/webhooks',
  user: '/users',
};

/** A subject without a view leads to its activity. */
function subjectHref({ subjectId }: Activity): string {
  const view = VIEWS[subjectId.slice(0, subjectId.indexOf('_'))];
  return view === undefined ? `/activity?subject=${encodeURIComponent(subjectId)}` : `${view}/${subjectId}`;
}

const written = (value: Change['from']): string =>
  value === null ? t('noneInText') : Array.isArray(value) ? value.join(', ') : String(value);

/** Both sides of a secret are null. */
function said({ field, from, to }: Change): string {
  const name = fieldWord(field);
  if (from === null && to === null) return t('nameChanged', { name });
  return from === null ? `${name}: ${written(to)}` : `${name}: ${written(from)} → ${written(to)}`;
}

const COLUMNS: readonly Column<Activity>[] = [
  { title: t('whatHappened'), kind: 'main', cell: ({ operation }) => activityWords(operation) },
  {
    title: t('who'),
    cell: ({ actor }) => (
      <Link href={`/activity?actor=${encodeURIComponent(actor.id)}`} title={actor.id}>
        <bdi>{actor.name || actor.id}</bdi>
      </Link>
    ),
  },
  { title: t('when'), cell: ({ at }) => <Time at={at} /> },
  {
    title: t('changes'),
    cell: ({ changes }) => (
      <ul>
        {changes.map((change) => (
          <li key={change.field}>
            <bdi>{said(change)}</bdi>
          </li>
        ))}
      </ul>
    ),
  },
  {
    title: t('ofWhat'),
    kind: 'wide',
    cell: (activity) => (
      <Link href={subjectHref(activity)} title={activity.subjectId}>
        {short(activity.subjectId, 8)}
      </Link>
    ),
  },
  { title: t('fromIp'), kind: 'wide', cell: ({ address }) => address ?? '' },
];

const OPERATIONS = [['', t('everything')], ...ACTIVITY_OPTIONS] as const;

const isDay = (text: string) => /^\d{4}-\d{2}-\d{2}$/.test(text);

export function Activity() {
  const [subject] = useParam('subject');
  const [actor] = useParam('actor');
  const [operation] = useParam('operation');
  const [from] = useParam('from');
  const [to] = useParam('to');
  const filters = { subject, actor, operation, from, to };
  const activity = useRead('activity.list', {
    page: usePage(),
    ...(subject && { subjectId: subject }),
    ...(actor && { actorId: actor }),
    ...(operation && { operation }),
    ...(isDay(from) && { createdFrom: startOfDay(from).toISOString() }),
    // The last day is included.
    ...(isDay(to) && { createdTo: startOfDay(to, 1).toISOString() }),
  });
  return (
    <Page title={t('activity')}>
      <Filters values={filters}>
        <Search name="subject" label={t('changedResourceId')} />
        <Search name="actor" label={t('personApiKeyId')} />
        <Select name="operation" label={t('action')} options={OPERATIONS} />
        <Search name="from" label={t('fromIp')} type="date" />
        <Search name="to" label={t('untilDay')} type="date" />
      </Filters>
      <List
        title={t('activity')}
        query={activity}
        columns={COLUMNS}
        empty={Object.values(filters).some(Boolean) ? t('noChangesMatch') : t('noChangesYet')}
      />
    </Page>
  );
}
