/** Hands e-mails to the mail server of the settings, and to no other host. A result, never
 *  an exception. */
import { domainToASCII } from 'node:url';
import MailComposer from 'nodemailer/lib/mail-composer';
import SmtpConnection from 'nodemailer/lib/smtp-connection';
import type { MailSettings } from '../domain/parsed-settings.js';
import { monotonicClock, within } from '../kit/clock.js';
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
  /** Null once the server has taken it; else a few stable words, which reach the merchant and say
   *  nothing of the server. */
  error: string | null;
  /** The server has refused this recipient or this e-mail, for good. */
  isRefused: boolean;
  /** The server refuses the connection, its greeting or the login: others would fare the same. What
   *  goes wrong later is its recipient's. */
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
  const from = { ...settings.from, address: asciiDomain(settings.from.address) };

  /** @param onReached called once the server has let us in */
  async function hand(outgoing: Outgoing, connection: SmtpConnection, onReached: () => void): Promise<SendResult> {
    const to = asciiDomain(outgoing.to);
    const message = await composed({ ...outgoing, to }, from);
    const extensions = await reach(connection, settings.auth);
    onReached();
    if (!isAscii(from.address + to) && !/[ -]SMTPUTF8\b/im.test(extensions)) return NOT_INTERNATIONAL;
    await new Promise<void>((resolve, reject) => {
      connection.once('error', reject);
      connection.send({ from: from.address, to }, message, (error) => (error ? reject(error) : resolve()));
    });
    return { error: null, isRefused: false, isAway: false };
  }

  return {
    /** Never rejects, and ends in time, whatever the server does. */
    async send(outgoing: Outgoing): Promise<SendResult> {
      const connection = new SmtpConnection(optionsOf(settings));
      let isAway = true;
      const sent = hand(outgoing, connection, () => {
        isAway = false;
      }).catch((error) => resultOf(error, isAway));
      const late = () => ({ isRefused: false, isAway, error: TIMED_OUT });
      try {
        return await within(monotonicClock, ATTEMPT_MS, sent, late);
      } finally {
        connection.close();
      }
    },
  };
}

const optionsOf = ({ host, port, secure, auth, isLoopback }: MailSettings) => ({
  ...{ host, port, secure },
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
});

/** Connects and signs in. @returns what the server said it can do */
async function reach(connection: SmtpConnection, auth: MailSettings['auth']): Promise<string> {
  let extensions = '';
  await new Promise<void>((resolve, reject) => {
    // Stays: what goes wrong later is reported by the call that it fails.
    connection.on('error', reject);
    connection.connect((error) => {
      if (error) return reject(error);
      extensions = connection.lastServerResponse || '';
      if (auth === null || !connection.allowsAuth) return resolve();
      connection.login({ credentials: auth }, (failure) => (failure ? reject(failure) : resolve()));
    });
  });
  return extensions;
}

function composed(
  { id, to, senderName, replyTo, language, subject, text, html }: Outgoing,
  from: MailSettings['from'],
): Promise<Buffer> {
  const composer = new MailComposer({
    // Objects, so that no text is parsed for further addresses.
    from: { name: senderName === '' ? from.name : senderName, address: from.address },
    to: { name: '', address: to },
    ...(replyTo !== null && { replyTo: { name: '', address: asciiDomain(replyTo) } }),
    ...{ subject, text, html },
    messageId: `<${id}@${from.address.slice(from.address.lastIndexOf('@') + 1)}>`,
    headers: {
      'Auto-Submitted': 'auto-generated',
      'X-Auto-Response-Suppress': 'All',
      'Content-Language': language,
    },
    ...{ disableFileAccess: true, disableUrlAccess: true },
  });
  return composer.compile().build();
}

/** With its domain as punycode, by which servers know it. One that has none stays as it is, and the
 *  server refuses it. */
export function asciiDomain(address: string): string {
  const at = address.lastIndexOf('@') + 1;
  const domain = address.slice(at);
  return isAscii(domain) ? address : address.slice(0, at) + (domainToASCII(domain) || domain);
}

const isAscii = (text: string): boolean => /^\p{ASCII}*$/u.test(text);

const NOT_INTERNATIONAL = {
  ...{ error: 'mail server takes no address in this script', isRefused: true, isAway: false },
} as const satisfies SendResult;
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
/** Once the server has let us in. */
const LATER_REASONS: Readonly<Record<string, string>> = {
  ...REASONS,
  ECONNECTION: 'mail server hung up',
  ESOCKET: 'mail server hung up',
};

/** @param isAway the server has not let us in */
function resultOf(cause: unknown, isAway: boolean): SendResult {
  const {
    code = '',
    responseCode = 0,
    command = '',
  } = cause as { code?: string; responseCode?: number; command?: string };
  const isSender = command === 'MAIL FROM';
  const what = code === 'EENVELOPE' ? (isSender ? 'sender refused' : 'address refused') : 'message refused';
  const said = responseCode > 0 ? `${what} (${responseCode})` : what;
  const trouble = (isAway ? REASONS : LATER_REASONS)[code];
  const isRefused = trouble === undefined && responseCode >= 500 && !isSender;
  return { error: trouble ?? said, isRefused, isAway, cause };
}
