/** Tells accounts of webhooks that fail, once until a delivery succeeds. Looked for beside the dispatcher, which has no part in it. */
import type { AccountStore } from '../accounts/index.js';
import type { Database } from '../kit/database.js';
import type { WebhookDoc, WebhookStore } from '../webhooks/index.js';
import type { Tell } from './bounded.js';
import type { Notice } from './facts.js';

/** A delivery with this many failures has failed for longer than a restart of its endpoint takes: its third attempt is due. */
const FAILED_ATTEMPTS = 3;
const OF_RETRY_BASE = 4;
/** Webhooks in one check. */
const BATCH = 100;

export function createTellOfFailing(deps: {
  webhooks: Pick<WebhookStore, 'failingUntold' | 'markTold'>;
  accounts: Pick<AccountStore, 'withNotifications'>;
  tell: Tell;
  transaction: Database['transaction'];
  retryBaseMs: number;
}): () => Promise<void> {
  const { webhooks, accounts, tell, transaction, retryBaseMs } = deps;
  const enough = { attempts: FAILED_ATTEMPTS, lastedMs: OF_RETRY_BASE * retryBaseMs * 0.9 };
  return async () => {
    for (const webhook of await webhooks.failingUntold(enough, BATCH)) {
      await transaction(async (session) => {
        if (!(await webhooks.markTold(webhook, session))) return;
        const { accountId } = webhook;
        const [account] = await accounts.withNotifications([accountId], session);
        const { recipients = [], kinds = [] } = account?.notifications ?? {};
        if (!kinds.includes('webhook.failing')) return;
        const key = `${webhook._id}:${webhook.failingSince!.toISOString()}`;
        await tell([{ accountId, sort: 'notice', key, ...noticeOf(webhook), recipients }], session);
      });
    }
  };
}

const noticeOf = ({ _id: id, name, url, failingSince, lastFailure, status }: WebhookDoc): Notice => ({
  kind: 'webhook.failing',
  facts: {
    ...{ id, name, url, since: failingSince!.toISOString(), error: lastFailure?.error ?? null },
    isPaused: status === 'PAUSED',
  },
});
