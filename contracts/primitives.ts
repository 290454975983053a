/** Value types of the contracts: ids, texts, amounts, assets, addresses, timestamps,
 *  query parameters. */
import { z } from 'zod';
import { isAccountAddress } from './address.js';
import { AMOUNT_PATTERN } from './currencies.js';

/** int64 max in stroops: the largest amount the ledger can hold. */
const MAX_STROOPS = 9_223_372_036_854_775_807n;

const stroopsOf = (text: string): bigint => {
  const [whole = '0', fraction = ''] = text.split('.');
  return BigInt(whole + fraction.padEnd(7, '0'));
};

/** A code that Zod does not have; it reaches the caller unchanged. */
const issueCode = (code: string) => ({ params: { code } });

/** An amount from a caller: text, > 0, ≤ `922337203685.4775807`. JSON numbers are refused, because
 *  they may have been rounded. */
export const amountInput = z
  .string({
    error: (issue) => (issue.input === undefined ? undefined : 'An amount is a decimal string, such as "10.5".'),
  })
  .superRefine((text, ctx) => {
    const tooBig = {
      code: 'custom',
      message: 'The amount is larger than the ledger can hold (922337203685.4775807).',
      ...issueCode('too_big'),
    } as const;
    if (/^[1-9]\d{12,}(\.\d{1,7})?$/.test(text)) {
      ctx.addIssue(tooBig);
      return;
    }
    if (!AMOUNT_PATTERN.test(text)) {
      ctx.addIssue({
        code: 'custom',
        message: 'An amount is a plain decimal with at most 7 decimals, such as "10.5".',
        ...issueCode('invalid_format'),
      });
      return;
    }
    const stroops = stroopsOf(text);
    if (stroops <= 0n) {
      ctx.addIssue({ code: 'custom', message: 'The amount must be greater than 0.', ...issueCode('too_small') });
    } else if (stroops > MAX_STROOPS) {
      ctx.addIssue(tooBig);
    }
  })
  .meta({
    id: 'AmountInput',
    description: 'Decimal string, at most 7 decimals, greater than 0, at most 922337203685.4775807.',
    examples: ['10.5'],
  });

/** An amount from the service, in canonical form. */
export const amount = z.string().meta({
  id: 'Amount',
  description: 'Decimal string in canonical form, at most 7 decimals: `10.5`, never `10.5000000`.',
  examples: ['10.5'],
});

/** The same, or nothing: `0`. */
export const amountOrNone = z
  .string({
    error: (issue) => (issue.input === undefined ? undefined : 'An amount is a decimal string, such as "10.5".'),
  })
  .superRefine((text, ctx) => {
    if (/^0(\.0{1,7})?$/.test(text)) return;
    for (const { message, params } of (amountInput.safeParse(text).error?.issues ?? []) as z.core.$ZodIssueCustom[])
      ctx.addIssue({ code: 'custom', message, ...(params && { params }) });
  })
  .meta({ description: 'Decimal string, at most 7 decimals; `0` for nothing.', examples: ['1.5'] });

/** A percentage from a caller: text, from `"0"` to the most, or greater than 0 where none is
 *  not one. */
export function percentInput({ most, decimals, positive }: { most: number; decimals: number; positive?: true }) {
  const form = new RegExp(`^(0|[1-9]\\d{0,2})(\\.\\d{1,${decimals}})?$`);
  const isWithin = (text: string) => Number(text) <= most && !(positive && Number(text) === 0);
  return z
    .string({
      error: (issue) => (issue.input === undefined ? undefined : 'A percentage is a decimal string, such as "1.5".'),
    })
    .refine((text) => form.test(text) && isWithin(text), {
      message: positive
        ? `Must be a decimal greater than "0", at most "${most}", with at most ${decimals} decimals.`
        : `Must be a decimal from "0" to "${most}" with at most ${decimals} decimals.`,
      ...issueCode('invalid_format'),
    })
    .meta({
      description: positive ? `More than \`0\`, at most \`${most}\`.` : `\`0\` to \`${most}\`.`,
      examples: ['1.5'],
    });
}

/** A percentage from the service. */
export const percent = z.string().meta({ description: 'Percentage: a decimal in canonical form.', examples: ['19'] });

/** Only blanks, control characters and characters without width. */
const INVISIBLE = /^[\s\p{Z}\p{Cc}\p{Cf}\p{DI}]*$/u;

/** Text whose length is counted in code points. Lone surrogates and NUL are refused: databases and
 *  pages do not reproduce them. */
export function text(limits: { min?: number; max: number }) {
  const { min = 0, max } = limits;
  return z
    .string()
    .superRefine((value, ctx) => {
      const length = [...value].length;
      if (min > 0 && INVISIBLE.test(value)) {
        ctx.addIssue({ code: 'custom', message: 'Must not be empty or blank.', ...issueCode('too_small') });
      }
      if (length > max) {
        ctx.addIssue({ code: 'custom', message: `Must have at most ${max} characters.`, ...issueCode('too_big') });
      }
      if (!value.isWellFormed() || value.includes('\0')) {
        ctx.addIssue({
          code: 'custom',
          message: 'Contains characters that are not text.',
          ...issueCode('invalid_format'),
        });
      }
    })
    .meta({ ...(min > 0 ? { minLength: min } : {}), maxLength: max });
}

export const nameInput = text({ min: 1, max: 120 });

/** Names of this machine, allowed without TLS for shops under development. */
const LOCALHOST = ['localhost', '127.0.0.1', '[::1]'];
/** Whether the name leads to this machine, or to the host of a container. */
const isLocal = (hostname: string) =>
  /^127\.|\.localhost$|\.local$/.test(hostname) || [...LOCALHOST, '0.0.0.0', 'host.docker.internal'].includes(hostname);

/** A URL of at most 2,048 characters, without credentials. */
const urlInput = (isAllowed: (url: URL) => boolean, refusal: string | ((url: URL) => string)) =>
  text({ max: 2048 }).superRefine((value, ctx) => {
    const url = URL.canParse(value) ? new URL(value) : null;
    // The WHATWG parser drops tabs, line ends and surrounding blanks, so the stored text would
    // differ from the URL.
    if (!url || /[\s\\]/.test(value)) {
      ctx.addIssue({ code: 'custom', message: 'Must be a URL.', ...issueCode('invalid_format') });
      // It also accepts `https:host` and `https:///host`, which a browser resolves as a path of
      // the page.
    } else if (/^https?:/i.test(value) && !/^https?:\/\/[^/?#]/i.test(value)) {
      ctx.addIssue({ code: 'custom', message: 'Must have `//` and a host.', ...issueCode('invalid_format') });
    } else if (!isAllowed(url)) {
      const message = typeof refusal === 'string' ? refusal : refusal(url);
      ctx.addIssue({ code: 'custom', message, ...issueCode('invalid_format') });
    } else if (/^[^/]*\/\/[^/?#]*@/.test(value)) {
      ctx.addIssue({ code: 'custom', message: 'Must not contain credentials.', ...issueCode('invalid_format') });
    }
  });

/** An https URL of at most 2,048 characters, without credentials. */
export const httpsUrlInput = urlInput(({ protocol }) => protocol === 'https:', 'Must be an https URL.').meta({
  format: 'uri',
  examples: ['https://shop.example/hook'],
});

const NOT_HTTPS = 'Must be an https URL.';

/** URL of an endpoint: https. The refusal of an endpoint on this machine says how to get
 *  deliveries there. */
export const endpointUrlInput = urlInput(
  ({ protocol }) => protocol === 'https:',
  ({ protocol, hostname }) =>
    protocol === 'http:' && isLocal(hostname)
      ? `${NOT_HTTPS} For an endpoint on your machine run \`webhook listen --forward <url>\`, which registers a webhook and passes deliveries on.`
      : NOT_HTTPS,
).meta({ format: 'uri', examples: ['https://shop.example/hook'] });

/** An http or https URL; the service's settings decide whether http is allowed. */
export const httpUrlInput = urlInput(
  ({ protocol }) => protocol === 'https:' || protocol === 'http:',
  'Must be an https URL.',
).meta({ format: 'uri', examples: ['https://horizon.example'] });

/** URL of a page for a payer's browser: https, or http on this machine for shops
 *  under development. */
export const pageUrlInput = urlInput(
  ({ protocol, hostname }) => protocol === 'https:' || (protocol === 'http:' && LOCALHOST.includes(hostname)),
  'Must be an https URL, or an http URL of localhost.',
).meta({ format: 'uri', examples: ['https://shop.example/thanks'] });

/** An https origin, without a path. Only characters that a header of policies can name. */
export const originInput = z
  .string()
  .refine(
    (origin) =>
      origin.length <= 300 &&
      /^https:\/\/[a-z0-9.[\]:-]+$/.test(origin) &&
      URL.canParse(origin) &&
      new URL(origin).origin === origin,
    {
      message: 'Must be an https origin without a path, such as https://shop.example.',
      ...issueCode('invalid_format'),
    },
  )
  .meta({ examples: ['https://shop.example'] });

/** `#rrggbb`. */
export const colorInput = z
  .string()
  .refine((color) => /^#[0-9a-fA-F]{6}$/.test(color), {
    message: 'A color is # and six hexadecimal digits, such as #1b6e4b.',
    ...issueCode('invalid_format'),
  })
  .meta({ pattern: '^#[0-9a-fA-F]{6}$', examples: ['#1b6e4b'] });

const DOMAIN_LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
/** As in HTML's rule for `<input type=email>`. */
const DOMAIN = new RegExp(`^${DOMAIN_LABEL}(?:\\.${DOMAIN_LABEL})*$`);
/** HTML's rule, with the characters of all scripts besides. */
const LOCAL_PART = /^(?:[a-zA-Z0-9.!#$%&'*+/=?^_`{|}~-]|[^\p{ASCII}\p{C}\p{Z}])+$/u;
/** For a domain in another script, which browsers turn into punycode. */
const INTERNATIONAL_DOMAIN = /^(?:[a-zA-Z0-9.-]|[^\p{ASCII}\p{C}\p{Z}])+$/u;
/** More than mail servers take, and as much as activity keeps of a value. */
const MAX_EMAIL_CHARACTERS = 300;

function isEmail(address: string): boolean {
  const at = address.lastIndexOf('@');
  const [local, domain] = [address.slice(0, at), address.slice(at + 1)];
  if (at < 1 || address.length > MAX_EMAIL_CHARACTERS || !LOCAL_PART.test(local)) return false;
  if (/^\p{ASCII}*$/u.test(domain)) return DOMAIN.test(domain);
  const url = INTERNATIONAL_DOMAIN.test(domain) ? `http://${domain}` : '';
  return URL.canParse(url) && DOMAIN.test(new URL(url).hostname);
}

/** What a browser's `<input type=email>` takes, and addresses in any script. Whether mail gets
 *  there is not known before it is sent. */
export const emailInput = z
  .string()
  .refine(isEmail, { message: 'Must be an e-mail address.', ...issueCode('invalid_format') })
  .meta({ format: 'idn-email', maxLength: MAX_EMAIL_CHARACTERS, examples: ['help@shop.example'] });

export const accountAddress = z
  .string()
  .refine(isAccountAddress, {
    message: 'Must be a G… account address with a valid checksum.',
    ...issueCode('invalid_format'),
  })
  .meta({
    id: 'AccountAddress',
    description: 'Stellar account address: G… with a valid checksum.',
    examples: ['GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ'],
  });

export const assetCodeInput = z
  .string()
  .refine((code) => /^[A-Za-z0-9]{1,12}$/.test(code), {
    message: 'An asset code has 1 to 12 letters and digits.',
    ...issueCode('invalid_format'),
  })
  .meta({ pattern: '^[A-Za-z0-9]{1,12}$', description: '`XLM` for the native asset.', examples: ['XLM', 'USDC'] });

export const timestamp = z.iso
  .datetime()
  .meta({ description: 'ISO 8601, UTC.', examples: ['2026-11-21T09:30:00.000Z'] });

/** A resource's id in an answer: a TypeID. */
export const idOf = (prefix: string, what: string) =>
  z.string().meta({ description: `Id of the ${what}.`, examples: [`${prefix}_01jd3k5v9ye6rbh2x7q0w4tznc`] });

/** An id in a path. Its form is not checked: a malformed id is answered like an unknown one. */
export const idInput = (prefix: string, what: string) => idOf(prefix, what);

/** The form of ids: a prefix and a UUIDv7 in base32. */
export const idPattern = (prefix: string): RegExp => new RegExp(`^${prefix}_[0-7][0-9a-hjkmnp-tv-z]{25}$`);

/** The id of an existing resource in a body. A malformed id is answered like an unknown one, but
 *  together with the body's other faults, before any look-up.
 *  @param noun as in "There is no such wallet." */
export function referenceInput(prefix: string, noun: string, what: string) {
  const pattern = idPattern(prefix);
  return z
    .string()
    .refine((id) => pattern.test(id), { message: `There is no such ${noun}.`, ...issueCode('not_found') })
    .meta(idOf(prefix, what).meta()!);
}

/** The first and the last moment that a timestamp can be written of. */
export const FIRST_MOMENT_MS = Date.parse('0000-01-01T00:00:00.000Z');
export const LAST_MOMENT_MS = Date.parse('9999-12-31T23:59:59.999Z');
const isWithinYears = (ms: number): boolean => ms >= FIRST_MOMENT_MS && ms <= LAST_MOMENT_MS;

/** A moment from a caller: ISO 8601 with an offset, or a date (midnight UTC). */
export const momentInput = z
  .union([z.iso.datetime({ offset: true }), z.iso.date()], {
    error: 'Must be an ISO 8601 timestamp with an offset, such as 2026-11-21T09:30:00Z, or a date.',
  })
  // A timestamp of an answer has four digits for its year.
  .refine((text) => isWithinYears(Date.parse(text)), {
    message: 'Must be in a year from 0000 to 9999, in UTC.',
    ...issueCode('invalid_format'),
  })
  .meta({
    type: 'string',
    description: 'ISO 8601 with an offset, or a date (midnight UTC).',
    examples: ['2026-11-21T00:00:00Z'],
  });

export const pageQuery = {
  page: z
    .int({ error: 'Must be a whole number from 1.' })
    .min(1)
    .max(1_000_000_000)
    .default(1)
    .meta({ description: 'Page, from 1.' }),
  pageSize: z
    .int({ error: 'Must be a whole number from 1 to 100.' })
    .min(1)
    .max(100)
    .default(20)
    .meta({ description: 'Items per page, at most 100.' }),
};

export const searchQuery = text({ max: 200 }).optional().meta({
  description:
    'Substring, compared without case and marks (`strasse` finds `Straße`, `cafe` finds `Café`); no character has a special meaning.',
});

const MOST_WORDS = 10;

export const wordsQuery = text({ min: 1, max: 200 })
  .refine((query) => query.trim().split(/\s+/u).length <= MOST_WORDS, {
    error: `Must have at most ${MOST_WORDS} words.`,
    params: { code: 'too_big' },
  })
  .optional()
  .meta({
    description: `At most ${MOST_WORDS} words, compared without case and marks: each must begin a word there; one of a single letter must be one.`,
  });

export const metaSchema = z
  .object({
    page: z.int(),
    pageSize: z.int(),
    total: z.int().meta({ description: 'Count of all items that match the filters.' }),
    totalPages: z.int().meta({ description: '0 when there are none.' }),
  })
  .meta({ id: 'ListMeta' });
export type ListMeta = z.infer<typeof metaSchema>;

/** Negative when more went out than came in. */
export const signedAmount = z.string().meta({
  id: 'SignedAmount',
  description: 'Decimal string in canonical form, at most 7 decimals, with a `-` where it is less than 0.',
  examples: ['-2.5'],
});
