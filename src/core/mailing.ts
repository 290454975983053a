/** The sending of e-mails, composed around the core. */
import type { Config } from '../config.js';
import { createTellOfFailing } from '../mail/failing.js';
import { createMailer, type Mailer, type MailerDeps } from '../mail/mailer.js';
import { createRender } from '../mail/render.js';
import { createMailTransport } from '../mail/transport.js';
import type { Core } from './core.js';

/** Null without a mail server in the settings. */
export function composeMailer(core: Core, config: Config, onAttempt: MailerDeps['onAttempt']): Mailer | null {
  if (!config.mail) return null;
  const { stores, transaction, publicUrl, processId, clock, monotonic, newId, log } = core;
  const { accounts, mails, webhooks } = stores.system;
  const { webhookRetryBaseMs: retryBaseMs, webhookMaxAttempts: maxAttempts, maxMailsPerAccount: mostOfDay } = config;
  return createMailer({
    mails,
    render: createRender({ accounts, forAccount: stores.forAccount, publicUrl }),
    transport: createMailTransport(config.mail),
    tellOfFailing: createTellOfFailing({ webhooks, accounts, mails, transaction, newId, retryBaseMs }),
    holder: processId,
    settings: { retryBaseMs, maxAttempts, mostOfDay },
    onAttempt,
    ...{ clock, monotonic, log },
  });
}
