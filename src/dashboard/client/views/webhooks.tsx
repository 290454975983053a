/** Webhooks: endpoints that get events. */
import { usePage } from '../address.js';
import { type Item, useRead } from '../api.js';
import { useMay } from '../parts/act.js';
import { Badge, LinkButton } from '../parts/bits.js';
import { type Column, List } from '../parts/list.js';
import { Page } from '../parts/page.js';
import { t } from '../texts/texts.js';
import { WEBHOOK_HEALTH, WEBHOOK_STATUS } from '../words.js';

type Webhook = Item<'webhooks.list'>;

/** Shows an active webhook as failing when its deliveries fail. */
export function WebhookBadge({ id, status }: Pick<Webhook, 'id' | 'status'>) {
  const health = useRead('webhooks.health', { id }, { enabled: status === 'ACTIVE', keepPrevious: false });
  const isFailing = status === 'ACTIVE' && health.data?.state === 'FAILING';
  return <Badge {...(isFailing ? WEBHOOK_HEALTH.FAILING : WEBHOOK_STATUS[status])} />;
}

const COLUMNS: readonly Column<Webhook>[] = [
  { title: t('name'), kind: 'main', cell: ({ name }) => <bdi>{name}</bdi> },
  { title: t('status'), cell: ({ id, status }) => <WebhookBadge id={id} status={status} /> },
  { title: t('endpointUrl'), cell: ({ url }) => <span class="cut">{url}</span> },
  { title: t('toldOf'), kind: 'wide', cell: ({ events }) => events.join(', ') },
];

export function Webhooks() {
  const webhooks = useRead('webhooks.list', { page: usePage() });
  const canMake = useMay('webhooks.create');
  return (
    <Page
      title={t('webhooks')}
      actions={
        canMake && (
          <LinkButton href="/webhooks/new" icon="plus">
            {t('newWebhook')}
          </LinkButton>
        )
      }
    >
      <List
        title={t('webhooks')}
        query={webhooks}
        columns={COLUMNS}
        href={({ id }) => `/webhooks/${id}`}
        empty={t('noWebhooksServerNeeds')}
      />
    </Page>
  );
}
