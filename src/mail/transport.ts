/** Hands e-mails to the mail server of the settings, and to no other host. A result, never an exception. */
import { createTransport as createNodemailer } from 'nodemailer';
import { monotonicClock, within } from '../clock.js';
import type { MailSettings } from '../domain/mail-settings.js';
import type { Content } from './letter.js';

export interface Outgoing extends Content {
  /** The e-mail's: it has the same when it is sent again, by which mailboxes know it. */
  id: string;
  to: string;
  /** Shown in place of the settings' name; empty for that one. */
  senderName: string;
  replyTo: string | null;
  language: string;
}

export interface SendResult {
  /** Null once the server has taken it; else a few stable words, which reach the merchant and say nothing of the server. */
  error: string | null;
  /** The server has refused this recipient or this e-mail, for good. */
  isRefused: boolean;
  /** The server does not answer, or refuses the login. */
  isAway: boolean;
  /** For the operator's log. */
  cause?: unknown;
}

export type Transport = ReturnType<typeof createMailTransport>;

const CONNECT_MS = 10_000;
const SILENCE_MS = 30_000;
/** Time limit of a whole attempt; the lease lasts longer. */
export const ATTEMPT_MS = 60_000;

export function createMailTransport(settings: MailSettings) {
  const { host, port, secure, auth, isLoopback, from } = settings;
  const transport = createNodemailer({
    ...{ host, port, secure },
    ...(auth && { auth }),
    // A password goes to another machine by an encrypted connection only.
    requireTLS: auth !== null && !secure && !isLoopback,
    // A connection within this machine needs no publicly trusted certificate.
    tls: { rejectUnauthorized: !isLoopback },
    ...{
      connectionTimeout: CONNECT_MS,
      greetingTimeout: CONNECT_MS,
      socketTimeout: SILENCE_MS,
      dnsTimeout: CONNECT_MS,
    },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  const domain = from.address.slice(from.address.lastIndexOf('@') + 1);

  async function hand({ id, to, senderName, replyTo, language, subject, text, html }: Outgoing): Promise<SendResult> {
    try {
      await transport.sendMail({
        // Objects, so that no text is parsed for further addresses.
        from: { name: senderName === '' ? from.name : senderName, address: from.address },
        to: { name: '', address: to },
        ...(replyTo !== null && { replyTo: { name: '', address: replyTo } }),
        ...{ subject, text, html },
        messageId: `<${id}@${domain}>`,
        headers: {
          'Auto-Submitted': 'auto-generated',
          'X-Auto-Response-Suppress': 'All',
          'Content-Language': language,
        },
        envelope: { from: from.address, to },
      });
      return { error: null, isRefused: false, isAway: false };
    } catch (error) {
      return resultOf(error);
    }
  }

  return {
    /** Never rejects, and ends in time, whatever the server does. */
    send: (outgoing: Outgoing): Promise<SendResult> =>
      within(monotonicClock, ATTEMPT_MS, hand(outgoing), () => ({ ...AWAY, error: TIMED_OUT })),
    close: () => transport.close(),
  };
}

const AWAY = { isRefused: false, isAway: true } as const;
const TIMED_OUT = 'mail server timed out';

const REASONS: Readonly<Record<string, string>> = {
  ETIMEDOUT: TIMED_OUT,
  ECONNECTION: 'mail server not reachable',
  ESOCKET: 'mail server not reachable',
  EDNS: 'mail server not reachable',
  ETLS: 'no encrypted connection to the mail server',
  EREQUIRETLS: 'no encrypted connection to the mail server',
  EAUTH: 'mail server refused the sign-in',
  ENOAUTH: 'mail server refused the sign-in',
  EPROTOCOL: 'unexpected answer from the mail server',
};

function resultOf(cause: unknown): SendResult {
  const {
    code = '',
    responseCode = 0,
    command = '',
  } = cause as { code?: string; responseCode?: number; command?: string };
  const away = REASONS[code];
  if (away !== undefined) return { ...AWAY, error: away, cause };
  const isSender = command === 'MAIL FROM';
  const what = code === 'EENVELOPE' ? (isSender ? 'sender refused' : 'address refused') : 'message refused';
  const isRefused = responseCode >= 500 && !isSender;
  return { error: responseCode > 0 ? `${what} (${responseCode})` : what, isRefused, isAway: false, cause };
}
