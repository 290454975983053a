/** A mail server on loopback, made with a library: behaves as a test tells it, and keeps accepted
 *  mails, parsed. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { type AddressObject, type ParsedMail, simpleParser } from 'mailparser';
import { SMTPServer } from 'smtp-server';
import { eventually } from './service.js';

export interface TakenMail {
  /** Recipients of the envelope, to whom it is really delivered. */
  to: string[];
  from: string;
  /** The unparsed mail. */
  raw: string;
  parsed: ParsedMail;
  secure: boolean;
  user: string | undefined;
}

/** Behaviour towards an attempt. `refuse`: refuses the recipient permanently. `later`: refuses
 *  temporarily. `hang`: takes the text and never answers. `leave`: hangs up at the recipient. */
export type MailTrouble = 'refuse' | 'later' | 'hang' | 'leave' | null;

export interface MailServer {
  url: string;
  port: number;
  mails: TakenMail[];
  /** Recipients of all attempts, whatever their result. */
  attempts: string[];
  behave(behave: (to: string) => MailTrouble): void;
  /** Resolves with the mails to this address once there are `count`. */
  to(address: string, count?: number): Promise<TakenMail[]>;
  close(): Promise<void>;
}

interface Options {
  port?: number;
  /** TLS from the first byte. */
  secure?: boolean;
  /** The only sender that may log in. */
  user?: { name: string; password: string };
  /** It offers no encryption. */
  plain?: boolean;
  /** It takes addresses of ASCII alone. */
  ascii?: boolean;
}

export async function startMailServer(options: Options = {}): Promise<MailServer> {
  const { secure = false, user, plain = false, ascii = false } = options;
  const mails: TakenMail[] = [];
  const attempts: string[] = [];
  let behave: (to: string) => MailTrouble = () => null;
  const server = new SMTPServer({
    secure,
    logger: false,
    authOptional: user === undefined,
    ...(plain ? { hideSTARTTLS: true, disabledCommands: ['STARTTLS'] } : {}),
    allowInsecureAuth: true,
    closeTimeout: 100,
    onAuth: ({ username, password }, _session, done) =>
      username === user?.name && password === user?.password
        ? done(null, { user: username })
        : done(new Error('Invalid username or password')),
    ...(ascii ? { hideSMTPUTF8: true } : {}),
    onRcptTo({ address }, session, done) {
      attempts.push(address);
      const trouble = behave(address);
      if (trouble === 'refuse') return done(Object.assign(new Error('No such user'), { responseCode: 550 }));
      if (trouble === 'leave') return [...server.connections].find(({ id }) => id === session.id)?.close();
      if (trouble === 'later') return done(Object.assign(new Error('Try again later'), { responseCode: 451 }));
      done();
    },
    onData(stream, session, done) {
      const parts: Buffer[] = [];
      stream.on('data', (part: Buffer) => parts.push(part));
      stream.on('end', async () => {
        const { mailFrom, rcptTo } = session.envelope;
        if (rcptTo.some(({ address }) => behave(address) === 'hang')) return;
        const raw = Buffer.concat(parts).toString();
        mails.push({
          to: rcptTo.map(({ address }) => address),
          from: mailFrom ? mailFrom.address : '',
          raw,
          parsed: await simpleParser(raw),
          secure: session.secure,
          user: session.user as string | undefined,
        });
        done();
      });
    },
  });
  server.on('error', () => undefined);
  const listening = server.listen(options.port ?? 0, '127.0.0.1');
  await once(listening, 'listening');
  const { port } = listening.address() as AddressInfo;
  const credentials = user ? `${encodeURIComponent(user.name)}:${encodeURIComponent(user.password)}@` : '';
  return {
    url: `${secure ? 'smtps' : 'smtp'}://${credentials}127.0.0.1:${port}`,
    port,
    mails,
    attempts,
    behave(next) {
      behave = next;
    },
    to: (address, count = 1) =>
      eventually(async () => {
        const found = mails.filter(({ to }) => to.includes(address));
        return found.length >= count && found;
      }, `${count} e-mails to ${address}`),
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** The addresses in its From or To header. */
export const people = (field: AddressObject | AddressObject[] | undefined) =>
  [field ?? []].flat().flatMap(({ value }) => value.map(({ name, address }) => ({ name, address })));
