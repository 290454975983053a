/** Activity: who changed what, newest first. */
import { Link } from 'wouter-preact';
import { usePage, useParam } from '../address.js';
import { type Item, useRead } from '../api.js';
import { short, startOfDay } from '../format.js';
import { Time } from '../parts/bits.js';
import { Filters, Search, Select } from '../parts/filters.js';
import { type Column, List } from '../parts/list.js';
import { Page } from '../parts/page.js';
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
  value === null ? 'none' : Array.isArray(value) ? value.join(', ') : String(value);

/** Both sides of a secret are null. */
function said({ field, from, to }: Change): string {
  const name = fieldWord(field);
  if (from === null && to === null) return `${name} changed`;
  return from === null ? `${name}: ${written(to)}` : `${name}: ${written(from)} → ${written(to)}`;
}

const COLUMNS: readonly Column<Activity>[] = [
  { title: 'What', kind: 'main', cell: ({ operation }) => activityWords(operation) },
  {
    title: 'Who',
    cell: ({ actor }) => (
      <Link href={`/activity?actor=${encodeURIComponent(actor.id)}`} title={actor.id}>
        <bdi>{actor.name || actor.id}</bdi>
      </Link>
    ),
  },
  { title: 'When', cell: ({ at }) => <Time at={at} /> },
  {
    title: 'Changes',
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
    title: 'Of',
    kind: 'wide',
    cell: (activity) => (
      <Link href={subjectHref(activity)} title={activity.subjectId}>
        {short(activity.subjectId, 8)}
      </Link>
    ),
  },
  { title: 'From', kind: 'wide', cell: ({ address }) => address ?? '' },
];

const OPERATIONS = [['', 'Everything'], ...ACTIVITY_OPTIONS] as const;

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
    <Page title="Activity">
      <Filters values={filters}>
        <Search name="subject" label="Changed resource, by id" />
        <Search name="actor" label="Person or API key, by id" />
        <Select name="operation" label="Action" options={OPERATIONS} />
        <Search name="from" label="From" type="date" />
        <Search name="to" label="To" type="date" />
      </Filters>
      <List
        title="Activity"
        query={activity}
        columns={COLUMNS}
        empty={Object.values(filters).some(Boolean) ? 'No changes match.' : 'No changes yet.'}
      />
    </Page>
  );
}
