/** The room's entrance: e-mails, and who is told of what. */
export { createTell, type Tell } from './bounded.js';
export { createTellOfFailing } from './failing.js';
export { createFollowEvents } from './follow.js';
export { createMailStore, type MailStore } from './mail-store.js';
export { createMailer, type Mailer, type MailerDeps } from './mailer.js';
export { createSentMailStore, type SentMailStore } from './mails-sent.js';
export { createTellOfActivity } from './news.js';
export { createNotificationService } from './notifications.js';
export { createRender } from './render.js';
export { createMailTransport } from './transport.js';
