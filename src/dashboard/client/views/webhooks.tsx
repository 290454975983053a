/** Webhooks: the endpoints that are told of what happens. */
import { usePage } from '../address.js';
import { type Item, useRead } from '../api.js';
import { useCanWrite } from '../parts/act.js';
import { Badge, LinkButton } from '../parts/bits.js';
import { type Column, List } from '../parts/list.js';
import { Page } from '../parts/page.js';

type Webhook = Item<'webhooks.list'>;

export const WebhookBadge = ({ status }: Pick<Webhook, 'status'>) =>
  status === 'ACTIVE' ? <Badge label="Active" tone="good" /> : <Badge label="Paused" tone="caution" />;

const COLUMNS: readonly Column<Webhook>[] = [
  { title: 'Name', kind: 'main', cell: ({ name }) => <bdi>{name}</bdi> },
  { title: 'Status', cell: (webhook) => <WebhookBadge {...webhook} /> },
  { title: 'Endpoint', cell: ({ url }) => <span class="cut">{url}</span> },
  { title: 'Told of', kind: 'wide', cell: ({ events }) => events.join(', ') },
];

export function Webhooks() {
  const webhooks = useRead('webhooks.list', { page: usePage() });
  const canWrite = useCanWrite();
  return (
    <Page
      title="Webhooks"
      actions={
        canWrite && (
          <LinkButton href="/webhooks/new" icon="plus">
            New webhook
          </LinkButton>
        )
      }
    >
      <List
        title="Webhooks"
        query={webhooks}
        columns={COLUMNS}
        href={({ id }) => `/webhooks/${id}`}
        empty="No webhooks. Your server needs one to be told of payments; people do not."
      />
    </Page>
  );
}
