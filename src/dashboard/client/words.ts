/** States and reasons in a merchant's words. The types require a text for every value of
 *  the contract. */
import type { EventType } from '../../../contracts/event-kinds.js';
import type { Language } from '../../../contracts/languages.js';
import type { Network } from '../../../contracts/networks.js';
import type { NoticeKind } from '../../../contracts/notifications.js';
import type { PaymentReason, PaymentStatus } from '../../../contracts/payments.js';
import type { MovementKind } from '../../../contracts/statements.js';
import type { Item, Output, WriteName } from './api.js';
import { localeOfTexts, namesIn, t, textIn } from './texts/texts.js';

type Tone = 'good' | 'caution' | 'bad' | 'quiet';
export interface Word {
  label: string;
  tone: Tone;
}
type WithSentence = Word & { sentence: string };

/** A row for every name, made of its tone. */
const tableOf = <Name extends string, Row>(tones: Readonly<Record<Name, Tone>>, row: (name: Name, tone: Tone) => Row) =>
  Object.fromEntries(
    (Object.entries(tones) as [Name, Tone][]).map(([name, tone]) => [name, row(name, tone)]),
  ) as Record<Name, Row>;

export const PAYMENT_STATUS = tableOf<PaymentStatus, Word>(
  { COMPLETED: 'good', UNDERPAID: 'caution', REJECTED: 'bad', UNMATCHED: 'quiet' },
  (status, tone) => ({ label: t(`paymentStatus.${status}`), tone }),
);

export const reasonWord = (reason: PaymentReason): string => t(`reason.${reason}`);
export const reasonSentence = (reason: PaymentReason): string => t(`reasonSentence.${reason}`);

export const CHECKOUT_STATUS = tableOf<Item<'checkouts.list'>['status'], Word>(
  { OPEN: 'quiet', PAID: 'good', EXPIRED: 'quiet', CANCELLED: 'quiet' },
  (status, tone) => ({ label: t(`checkoutStatus.${status}`), tone }),
);

/** Options for forms. */
export const networkOptions = (networks: readonly Network[]) =>
  networks.map((network) => [network, t(`network.${network}`)] as const);

type Sync = Item<'wallets.list'>['sync'];

const SYNC_STATE = tableOf<Sync['state'], WithSentence>(
  { OK: 'good', SYNCING: 'quiet', LAGGING: 'caution', GAP: 'bad' },
  (state, tone) => ({ label: t(`sync.${state}`), tone, sentence: t(`syncSentence.${state}`) }),
);

export function syncShown({ state, reason, parked }: Sync): WithSentence {
  if (state === 'OK' && parked > 0) return { label: t('parked'), tone: 'caution', sentence: t('parkedSentence') };
  return reason === null
    ? SYNC_STATE[state]
    : { label: t('notRead'), tone: 'caution', sentence: t('notReadSentence', { reason }) };
}

export const AUDIT_STATUS = tableOf<Item<'wallets.audits'>['status'], Word>(
  { RUNNING: 'quiet', PROVEN: 'good', DIFFERENT: 'bad', FAILED: 'caution' },
  (status, tone) => ({ label: t(`audit.${status}`), tone }),
);

export const DELIVERY_STATUS = tableOf<Item<'webhooks.deliveries'>['status'], Word>(
  { PENDING: 'quiet', DELIVERED: 'good', FAILED: 'bad', CANCELLED: 'quiet' },
  (status, tone) => ({ label: t(`delivery.${status}`), tone }),
);

export const WEBHOOK_STATUS = tableOf<Item<'webhooks.list'>['status'], Word>(
  { ACTIVE: 'good', PAUSED: 'caution' },
  (status, tone) => ({ label: t(`webhookStatus.${status}`), tone }),
);

export const WEBHOOK_HEALTH = tableOf<Output<'webhooks.health'>['state'], WithSentence>(
  { HEALTHY: 'good', FAILING: 'bad', PAUSED: 'caution', IDLE: 'quiet' },
  (state, tone) => ({ label: t(`health.${state}`), tone, sentence: t(`healthSentence.${state}`) }),
);

export const movementWord = (kind: MovementKind): string => t(`movement.${kind}`);

export const EVENT_TYPES = namesIn('event') as EventType[];
export const eventWord = (type: EventType): string => t(`event.${type}`);

const NOTICES = namesIn('notice') as NoticeKind[];
export const noticeWord = (kind: NoticeKind): string => t(`notice.${kind}`);
/** Options for forms. */
export const NOTICE_OPTIONS = NOTICES.map((kind) => ({
  value: kind,
  label: noticeWord(kind),
  hint: t(`noticeHint.${kind}`),
}));

/** The subject of an e-mail, by its kind. */
export const mailWord = (kind: string): string =>
  kind === 'receipt' ? t('mailReceipt') : kind === 'security' ? t('mailSecurity') : (textIn('notice', kind) ?? kind);

const LANGUAGES: Record<Language, true> = {
  ...{ en: true, de: true, es: true, fr: true, it: true, nl: true, pl: true },
  ...{ pt: true, tr: true, id: true, ja: true, zh: true, ar: true },
};
const names = new Intl.DisplayNames(localeOfTexts(), { type: 'language' });
export const languageWord = (language: Language): string => names.of(language) ?? language;
/** Options for forms. */
export const LANGUAGE_OPTIONS = (Object.keys(LANGUAGES) as Language[]).map(
  (language) => [language, languageWord(language)] as const,
);

export type Role = Item<'users.list'>['role'];
const ROLES: Record<Role, true> = { OWNER: true, MANAGER: true, CASHIER: true, VIEWER: true };
export const roleWord = (role: Role): string => t(`role.${role}`);
export const roleSentence = (role: Role): string => t(`roleSentence.${role}`);
/** Options for forms. */
export const ROLE_OPTIONS = (Object.keys(ROLES) as Role[]).map((value) => ({
  value,
  label: roleWord(value),
  hint: roleSentence(value),
}));

const operationWord = (name: WriteName): string => t(`operation.${name}`);
const operationOf = (activity: string) => activity.replace('_', '.') as WriteName;

/** Options of a filter, sorted by label: operations of the API, and what happens beyond them. */
export const ACTIVITY_OPTIONS: readonly (readonly [operation: string, label: string])[] = [
  ...(namesIn('operation') as WriteName[]).map((name) => [name.replace('.', '_'), operationWord(name)] as const),
  ...namesIn('beyond').map((name) => [name, activityWords(name)] as const),
].sort(([, a], [, b]) => a.localeCompare(b, localeOfTexts()));

/** @param activity `products_update` */
export function activityWords(activity: string): string {
  return textIn('beyond', activity) ?? textIn('operation', operationOf(activity)) ?? activity;
}

/** API fields whose names are unclear have a text. */
export const fieldWord = (field: string): string => textIn('field', field) ?? field;
