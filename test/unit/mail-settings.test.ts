/** What an operator writes as SMTP_URL and MAIL_FROM, and what is said where it cannot work. */
import t from 'tap';
import { readConfig } from '../../src/app/config.js';
import { StartupError } from '../../src/kit/startup-error.js';

const FROM = 'pay@service.example';
const mailOf = (SMTP_URL: string, MAIL_FROM = FROM) => readConfig({ SMTP_URL, MAIL_FROM }).mail;

t.test('a mail server and a sender are read from the settings', async (t) => {
  t.equal(readConfig({}).mail, null);
  t.equal(readConfig({ SMTP_URL: ' ', MAIL_FROM: '' }).mail, null);
  t.match(mailOf('smtp://mail.example'), {
    host: 'mail.example',
    port: 587,
    secure: false,
    auth: null,
    isLoopback: false,
  });
  t.match(mailOf('smtps://u%40x:p%2Fw%25@mail.example:2465/'), {
    ...{ host: 'mail.example', port: 2465, secure: true },
    auth: { user: 'u@x', pass: 'p/w%' },
  });
  for (const host of ['localhost', '127.0.0.1', '[::1]', 'mail.localhost'])
    t.equal(mailOf(`smtp://${host}:25`)!.isLoopback, true, host);
  t.equal(mailOf('smtp://[::1]')!.host, '::1');
  t.equal(mailOf('smtp://127.evil.example')!.isLoopback, false);
  t.same(mailOf('smtp://m.example', 'Bean & Leaf <a@shop.example>')!.from, {
    name: 'Bean & Leaf',
    address: 'a@shop.example',
  });
  t.same(mailOf('smtp://m.example', '"Bean, Leaf" <a@shop.example>')!.from, {
    name: 'Bean, Leaf',
    address: 'a@shop.example',
  });
});

t.test('a wrong value is one line that names the setting and repeats no password', async (t) => {
  const cases: [string, string, RegExp][] = [
    ['mail.example', FROM, /^SMTP_URL must be smtp:/],
    ['http://mail.example', FROM, /^SMTP_URL must be smtp:/],
    ['smtp:mail.example', FROM, /^SMTP_URL/],
    ['smtp://', FROM, /^SMTP_URL/],
    ['smtp://:25', FROM, /^SMTP_URL/],
    ['smtp://mail.example:0', FROM, /^SMTP_URL must have a port/],
    ['smtp://mail.example:99999', FROM, /^SMTP_URL/],
    ['smtp://secret@mail.example', FROM, /^SMTP_URL must have both/],
    ['smtp://u:secret%zz@mail.example', FROM, /^SMTP_URL has a broken percent/],
    ['smtp://u:secret@mail.example/path', FROM, /^SMTP_URL must be a server/],
    ['smtp://u:secret@mail.example?pool=true', FROM, /^SMTP_URL must be a server/],
    ['smtp://u:se#cret@mail.example', FROM, /^SMTP_URL/],
    ['smtp://mail.example', '', /^MAIL_FROM is required/],
    ['', FROM, /^SMTP_URL is required/],
    ['smtp://mail.example', 'Bean & Leaf', /^MAIL_FROM must be an address/],
    ['smtp://mail.example', 'a@x.example, b@x.example', /^MAIL_FROM/],
    ['smtp://mail.example', 'A <a@x.example>, B <b@x.example>', /^MAIL_FROM/],
    ['smtp://mail.example', 'A\r\nBcc: b@x.example <a@x.example>', /^MAIL_FROM/],
  ];
  for (const [url, from, says] of cases) {
    const error = await (async () => mailOf(url, from))().then(
      () => null,
      (error: unknown) => error,
    );
    const what = `${url} ${from}: ${error}`;
    t.ok(error instanceof StartupError, what);
    t.match((error as Error | null)?.message, says, what);
    t.notMatch((error as Error | null)?.message, /\n|secret/, what);
  }
});
