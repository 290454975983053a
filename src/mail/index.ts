/** The room's entrance: e-mails, and who is told of what. */
export { createSentMailStore, createTell, type SentMailStore, type Tell } from './bounded.js';
export { createFollowEvents } from './follow.js';
export { createMailStore, type MailStore } from './mail-store.js';
export { createMailer, type Mailer, type MailerDeps } from './mailer.js';
export { createNotificationService, createTellOfActivity, createTellOfFailing } from './news.js';
export { createRender } from './render.js';
export { createMailTransport } from './transport.js';
