/** Webhooks: endpoints that get events. */
import { usePage } from '../address.js';
import { type Item, useRead } from '../api.js';
import { useMay } from '../parts/act.js';
import { Badge, LinkButton } from '../parts/bits.js';
import { type Column, List } from '../parts/list.js';
import { Page } from '../parts/page.js';
import { WEBHOOK_HEALTH, WEBHOOK_STATUS } from '../words.js';

type Webhook = Item<'webhooks.list'>;

/** Shows an active webhook as failing when its deliveries fail. */
export function WebhookBadge({ id, status }: Pick<Webhook, 'id' | 'status'>) {
  const health = useRead('webhooks.health', { id }, { enabled: status === 'ACTIVE', keepPrevious: false });
  const isFailing = status === 'ACTIVE' && health.data?.state === 'FAILING';
  return <Badge {...(isFailing ? WEBHOOK_HEALTH.FAILING : WEBHOOK_STATUS[status])} />;
}

const COLUMNS: readonly Column<Webhook>[] = [
  { title: 'Name', kind: 'main', cell: ({ name }) => <bdi>{name}</bdi> },
  { title: 'Status', cell: ({ id, status }) => <WebhookBadge id={id} status={status} /> },
  { title: 'Endpoint URL', cell: ({ url }) => <span class="cut">{url}</span> },
  { title: 'Told of', kind: 'wide', cell: ({ events }) => events.join(', ') },
];

export function Webhooks() {
  const webhooks = useRead('webhooks.list', { page: usePage() });
  const canMake = useMay('webhooks.create');
  return (
    <Page
      title="Webhooks"
      actions={
        canMake && (
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
        empty="No webhooks. Your server needs one to be notified of payments; people do not."
      />
    </Page>
  );
}
