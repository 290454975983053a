/** The sending of e-mails, composed around the core. */

import {
  createMailer,
  createMailTransport,
  createRender,
  createTellOfFailing,
  type Mailer,
  type MailerDeps,
} from '../mail/index.js';
import type { Config } from './config.js';
import type { Core } from './core.js';

/** What the core stores e-mails by; null without a mail server in the settings. */
export const mailBoundsOf = ({ mail, maxMailsPerAccount: mostOfDay }: Config): NonNullable<Core['mail']> | null =>
  mail && { mostOfDay };

/** Null without a mail server in the settings. */
export function composeMailer(core: Core, config: Config, onAttempt: MailerDeps['onAttempt']): Mailer | null {
  const { stores, transaction, tell, publicUrl, processId, clock, monotonic, log } = core;
  if (!config.mail || !tell) return null;
  const { accounts, mails, webhooks } = stores.system;
  const { webhookRetryBaseMs: retryBaseMs, webhookMaxAttempts: maxAttempts, maxMailsPerAccount: mostOfDay } = config;
  return createMailer({
    mails,
    render: createRender({ accounts, forAccount: stores.forAccount, publicUrl }),
    transport: createMailTransport(config.mail),
    tellOfFailing: createTellOfFailing({ webhooks, accounts, tell, transaction, retryBaseMs }),
    holder: processId,
    settings: { retryBaseMs, maxAttempts, mostOfDay },
    onAttempt,
    ...{ clock, monotonic, log },
  });
}
