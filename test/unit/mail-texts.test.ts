import { readFileSync } from 'node:fs';
import t from 'tap';
import { LANGUAGES } from '../../contracts/languages.js';
import { MAIL_TEXTS, type MailKey, speechOf } from '../../src/mail/texts/index.js';

const KEYS = Object.keys(MAIL_TEXTS.en) as MailKey[];
const placeholders = (text: string) => [...text.matchAll(/\{(\w+)\}/g)].map(([, name]) => name).sort();

t.test('each language has every text of e-mails to staff, with its placeholders, and each is said', async (t) => {
  t.strictSame(Object.keys(MAIL_TEXTS), [...LANGUAGES]);
  for (const language of LANGUAGES) {
    const faults: string[] = [];
    for (const key of KEYS) {
      const [text, english] = [MAIL_TEXTS[language][key], MAIL_TEXTS.en[key]];
      if (`${placeholders(text)}` !== `${placeholders(english)}`) faults.push(`${key}: placeholders`);
      if (text !== text.trim()) faults.push(`${key}: spaces`);
      if (language !== 'en' && /\w+ \w+ \w+/.test(english) && text === english) faults.push(`${key} is not translated`);
    }
    t.same(faults, [], language);
  }
  const source = readFileSync(new URL('../../src/mail/render.ts', import.meta.url), 'utf8');
  t.strictSame(
    KEYS.filter((key) => !source.includes(`'${key}'`)),
    [],
  );
});

t.test('money of an e-mail is written as its language does', async (t) => {
  t.match(speechOf('de').money('3.5', 'EUR'), /^3,50\s€$/);
  t.equal(speechOf('ar').direction, 'rtl');
});
