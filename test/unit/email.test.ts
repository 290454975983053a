/** Which e-mail addresses are taken, and the links made of them. */
import t from 'tap';
import { emailInput } from '../../contracts/primitives.js';
import { asciiDomain } from '../../src/mail/transport.js';

const TAKEN = [
  ...[
    'r&d@firm.example',
    'a!b@firm.example',
    'user#EXT#@tenant.example',
    "o'x+y@shop.example",
    'a/b=c?d^e_f`g{h|i}j~k@x.de',
  ],
  ...[
    '.a@x.example',
    'a..b@x.example',
    'a@localhost',
    'a@1',
    'a@x1.2y',
    `${'a'.repeat(64)}@x.example`,
    '$%*-@x-y.example',
  ],
  ...[
    'info@kfz-müller.example',
    'info@KFZ-MÜLLER.example',
    '佐藤@例え.jp',
    'пётр@почта.рф',
    'jürgen@shop.example',
    'a@例え。jp',
  ],
  `a@${'b'.repeat(63)}.example`,
];
const REFUSED = [
  ...[
    '',
    'ana',
    '@x.example',
    'ana@',
    'a@b@c.example',
    'a b@x.example',
    '"a b"@x.example',
    'Ana <a@x.example>',
    'a@x.example,b@x.example',
  ],
  ...[
    'a@-x-.example',
    'a@x..example',
    'a@.example',
    'a@x.example.',
    'a@x_y.example',
    'a@[1.2.3.4]',
    `a@${'b'.repeat(64)}.example`,
  ],
  ...[
    'a@x.example\r\nBcc: b@x.example',
    'a\0@x.example',
    'a\u2028@x.example',
    'a\u202eb@x.example',
    'a\ud800@x.example',
  ],
  ...[
    'a@müller/x.example',
    'a@müller:80',
    'a@müller?x',
    'a@mül%6cer.example',
    'a@müller．/x',
    'a@-ü-.',
    `${'a'.repeat(320)}@x.example`,
  ],
];

t.test('what a browser’s field takes is taken, in any script, and nothing else', async (t) => {
  const isTaken = (address: string) => emailInput.safeParse(address).success;
  t.same(
    TAKEN.filter((address) => !isTaken(address)),
    [],
  );
  t.same(REFUSED.filter(isTaken), []);
});

t.test('a domain is sent as punycode, and one that has none as it is', async (t) => {
  t.equal(asciiDomain('info@kfz-müller.example'), 'info@xn--kfz-mller-u9a.example');
  t.equal(asciiDomain('r&d@firm.example'), 'r&d@firm.example');
  t.equal(asciiDomain('a@1'), 'a@1');
});
