#!/usr/bin/env node
/** `stellar-payment-proof verify FILE`: verifies a proof without network. Exit code 0 for SIGNED
 *  and ANCHORED, 2 for CONSISTENT, 1 for everything else. */
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { type Claim, MAX_BYTES } from './format.js';
import { isValidators, type Verdict, type Verification, type VerifyOptions, verifyProof } from './verify.js';

const USAGE = `Usage: stellar-payment-proof verify FILE [options]

FILE is a proof of a payment as JSON, perhaps compressed with gzip; - reads it from standard input.

  --hash N:HEX             the hash of ledger N, from a source that you trust; may be repeated
  --validators FILE        whose signatures count: JSON [{"name", "homeDomain", "nodes": ["G…"]}]
  --passphrase TEXT        of a network that is neither the public one nor the test network
  --statement-key ID=whpk_…  the key of who signed the statement; may be repeated
  --json                   prints the result as JSON

Exit code: 0 SIGNED or ANCHORED, 2 CONSISTENT, 1 INVALID, UNKNOWN or a fault of the call.`;

const EXIT: Readonly<Record<Verdict, number>> = { SIGNED: 0, ANCHORED: 0, CONSISTENT: 2, INVALID: 1, UNKNOWN: 1 };

/** A fault of the call, in one line. */
class Fault extends Error {}

function read(path: string): Buffer {
  try {
    return readFileSync(path === '-' ? 0 : path);
  } catch (error) {
    throw new Fault(`${path} cannot be read: ${(error as Error).message}`);
  }
}

/** A file that does not unpack is no proof; the verifier says so. */
function unpacked(file: Buffer): string {
  const isGzip = file[0] === 0x1f && file[1] === 0x8b;
  try {
    return (isGzip ? gunzipSync(file, { maxOutputLength: MAX_BYTES + 1 }) : file).toString('utf8');
  } catch {
    throw new Fault(`the file is no gzip, or larger than ${MAX_BYTES / 1_000_000} MB`);
  }
}

function validatorsOf(path: string): VerifyOptions['validators'] {
  let given: unknown;
  try {
    given = JSON.parse(read(path).toString('utf8'));
  } catch (error) {
    if (error instanceof Fault) throw error;
  }
  if (!isValidators(given)) throw new Fault(`${path} is no JSON of the form [{"name", "homeDomain", "nodes": ["G…"]}]`);
  return given;
}

function hashOf(text: string): { ledger: number; hash: string } {
  const [, ledger, hash] = /^(\d{1,10}):([0-9a-f]{64})$/i.exec(text) ?? [];
  if (!ledger || !hash)
    throw new Fault(`--hash is the number of a ledger, a colon and 64 hexadecimal digits, not ${text}`);
  return { ledger: Number(ledger), hash };
}

function statementKeyOf(text: string): [string, string] {
  const at = text.indexOf('=');
  if (at <= 0) throw new Fault('--statement-key is the id of a key, = and the key');
  return [text.slice(0, at), text.slice(at + 1)];
}

const paid = ({ amount, assetCode, assetIssuer, from, to, toMuxedId, memoType, memo, ...claim }: Claim): string[] => [
  `Payment      ${amount} ${assetCode}${assetIssuer === null ? '' : ` of ${assetIssuer}`} (${claim.kind})`,
  `From         ${from}`,
  `To           ${to}${toMuxedId === null ? '' : ` (muxed id ${toMuxedId})`}`,
  `Memo         ${memo === null ? 'none' : `${JSON.stringify(memo)} (${memoType})`}`,
  `Closed       ${claim.closedAt}`,
  `Transaction  ${claim.transactionHash}, operation ${claim.operationIndex}`,
];

function linesOf({ verdict, claim, ledger, hash, reasons, statement }: Verification): string[] {
  const lines = [verdict, ...(claim ? paid(claim) : [])];
  if (hash !== null) lines.push(`Ledger       ${ledger}`, `Hash         ${hash}`);
  lines.push(...reasons);
  if (statement) {
    const signed = statement.valid === null ? 'not checked: give its key' : statement.valid ? 'genuine' : 'NOT GENUINE';
    lines.push(`Statement (${signed}; the ledger does not prove it): ${JSON.stringify(statement.body)}`);
  }
  return lines;
}

const escaped = (unit: string): string => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`;

/** A line without characters that a terminal acts upon or that turn the direction of text: with
 *  them a proof would write its own verdict. */
const visible = (line: string): string =>
  line.replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, (found) => found.split('').map(escaped).join(''));

async function main(args: readonly string[]): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      hash: { type: 'string', multiple: true, default: [] },
      validators: { type: 'string' },
      passphrase: { type: 'string' },
      'statement-key': { type: 'string', multiple: true, default: [] },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const [command, path, ...others] = positionals;
  if (values.help || command !== 'verify' || path === undefined || others.length > 0) {
    (values.help ? process.stdout : process.stderr).write(`${USAGE}\n`);
    return values.help ? 0 : 1;
  }
  const result = await verifyProof(unpacked(read(path)), {
    passphrase: values.passphrase,
    hashes: values.hash.map(hashOf),
    validators: values.validators === undefined ? undefined : validatorsOf(values.validators),
    statementKeys: Object.fromEntries(values['statement-key'].map(statementKeyOf)),
  });
  const lines = values.json ? JSON.stringify(result, null, 2).split('\n') : linesOf(result);
  process.stdout.write(`${lines.map(visible).join('\n')}\n`);
  return EXIT[result.verdict];
}

try {
  process.exitCode = await main(process.argv.slice(2));
} catch (error) {
  // A wrong call: the errors of `parseArgs` and of `verifyProof`'s options are TypeErrors.
  if (!(error instanceof Fault) && !(error instanceof TypeError)) throw error;
  process.stderr.write(`${error.message}\n`);
  process.exitCode = 1;
}
