/** The reader's types are the network's: random values of each type, written by the Stellar SDK's
 *  own description of it, are read to their last byte. */
import { xdr } from '@stellar/stellar-sdk/base';
import fc from 'fast-check';
import t from 'tap';
import { scpRecord } from '../chain.js';
import { concat, keyOf, strkey, uint32 } from '../encoding.js';
import { envelope, generalizedSet, invocation, oldSet, resultPair, taggedTransaction } from '../ledger-types.js';
import { type Bytes, Invalid, list, Reader, type Type } from '../xdr.js';

/** What the SDK knows about a type. */
type Schema = any;

/** Types that contain themselves end below this depth. */
const MAX_DEPTH = 14;

/** Writes one random value. @param next a number from 0 to below its argument */
function write(schema: Schema, next: (below: number) => number, depth = 0): Bytes {
  const random = (length: number): Bytes => Uint8Array.from({ length }, () => next(256));
  const padded = (length: number) => concat(random(length), new Uint8Array(-length & 3));
  const inside = (inner: Schema) => write(inner, next, depth + 1);
  switch (schema.kind) {
    case 'lazy':
      return inside(schema.getSchema());
    case 'bool':
      return uint32(next(2));
    case 'int32':
    case 'uint32':
      return random(4);
    case 'int64':
    case 'uint64':
      return random(8);
    case 'opaque':
      return padded(schema.length);
    case 'varOpaque':
    case 'string': {
      const length = next(Math.min(schema.maxLength, 40) + 1);
      return concat(uint32(length), padded(length));
    }
    case 'option':
      return depth < MAX_DEPTH && next(2) ? concat(uint32(1), inside(schema.element)) : uint32(0);
    case 'fixedArray':
      return concat(...Array.from({ length: schema.length }, () => inside(schema.element)));
    case 'array': {
      const count = depth < MAX_DEPTH ? next(3) : 0;
      return concat(uint32(count), ...Array.from({ length: count }, () => inside(schema.element)));
    }
    case 'enum': {
      const values = Object.entries(schema).filter((entry): entry is [string, number] => typeof entry[1] === 'number');
      return uint32(values[next(values.length)]![1]);
    }
    case 'struct':
      return concat(...schema.entries.map(([, field]: [string, Schema]) => inside(field)));
    case 'union': {
      const voids = schema.cases.filter(({ arm }: Schema) => arm.kind === 'void');
      const cases = depth < MAX_DEPTH || voids.length === 0 ? schema.cases : voids;
      const { discriminant, arm } = cases[next(cases.length)];
      return concat(uint32(discriminant), arm.kind === 'void' ? new Uint8Array() : inside(arm.schema));
    }
    default:
      throw new Error(`the test does not know the kind ${schema.kind}`);
  }
}

const TYPES: [string, Schema, Type][] = [
  ['tagged transactions', xdr.TransactionSignaturePayloadTaggedTransaction.schema, taggedTransaction],
  ['envelopes', xdr.TransactionEnvelope.schema, envelope],
  ['result sets', xdr.TransactionResultSet.schema, list(resultPair)],
  ['invocations', xdr.InvokeHostFunctionSuccessPreImage.schema, invocation],
  ['transaction sets', xdr.GeneralizedTransactionSet.schema, generalizedSet],
  ['transaction sets before protocol 20', xdr.TransactionSet.schema, oldSet],
  ['messages of validators', xdr.ScpHistoryEntry.schema, scpRecord],
];

for (const [name, schema, type] of TYPES)
  t.test(`random ${name} → read to their last byte, and cut ones are refused`, async (t) => {
    let count = 0;
    fc.assert(
      fc.property(fc.infiniteStream(fc.nat(0x7fff_ffff)), (stream) => {
        const numbers = stream[Symbol.iterator]();
        const bytes = write(schema, (below) => numbers.next().value! % below);
        Reader.whole(bytes, type);
        count += bytes.length;
        const end = bytes.length - 4;
        try {
          Reader.whole(bytes.subarray(0, end), type);
          return false;
        } catch (error) {
          return error instanceof Invalid;
        }
      }),
      { numRuns: 300 },
    );
    t.comment(`${count} bytes`);
    t.pass(name);
  });

t.test('keys are spelt as the network spells them', async (t) => {
  const { StrKey } = await import('@stellar/stellar-sdk/base');
  fc.assert(
    fc.property(fc.uint8Array({ minLength: 32, maxLength: 32 }), (random) => {
      const key = Uint8Array.from(random);
      const account = StrKey.encodeEd25519PublicKey(Buffer.from(key));
      return (
        strkey('G', key) === account &&
        strkey('C', key) === StrKey.encodeContract(Buffer.from(key)) &&
        Buffer.from(keyOf(account)!).equals(Buffer.from(key)) &&
        keyOf(account.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A'))) === null
      );
    }),
  );
  t.pass();
});
