/** Generates the client's types from the contracts, so that its package needs no zod; with
 *  `--check` it writes nothing and exits with 1 when the committed file is stale. */
import { execFileSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { errorSchema } from '../contracts/errors.js';
import { webhookPayloadSchema } from '../contracts/events.js';
import { contract } from '../contracts/index.js';
import type { Operation } from '../contracts/operation.js';

const FILE = new URL('../src/client/contract.ts', import.meta.url);

const HEAD = `/** Inputs and results of the operations. Generated from the contracts by \`npm run openapi\`: edit them there. */
import type { Mutation, Query, Subscription } from './procedures.js';
`;

/** Replacements of names that JavaScript uses for something else. */
const RENAMED: Readonly<Record<string, string>> = { Error: 'ErrorBody', Meta: 'ListMeta' };
/** Unions whose type in the contract is more precise than their schema, because the input decides
 *  which member comes. */
const AS_TYPED: Readonly<Record<string, string>> = {
  'ListMeta | EventsAfterMeta': 'ListMeta & Partial<EventsAfterMeta>',
};

type Schema = z.core.JSONSchema.BaseSchema;

const definitions = new Map<string, Schema>();

/** The type as source text; named schemas are added to the definitions. */
function typeOfZod(schema: z.ZodType, io: 'input' | 'output'): string {
  const { $defs = {}, ...root } = z.toJSONSchema(schema, { io }) as Schema;
  for (const [name, definition] of Object.entries($defs as Record<string, Schema>)) {
    const known = definitions.get(name);
    if (known && JSON.stringify(known) !== JSON.stringify(definition)) throw new Error(`${name} has two meanings`);
    definitions.set(name, definition);
  }
  return typeOf(root);
}

const PLAIN: Readonly<Record<string, string>> = {
  string: 'string',
  boolean: 'boolean',
  number: 'number',
  integer: 'number',
  null: 'null',
};

function typeOf(schema: Schema): string {
  const { $ref, enum: values, anyOf, oneOf, type, items, properties, additionalProperties } = schema;
  if ($ref !== undefined) return nameOf($ref.replace('#/$defs/', ''));
  if ('const' in schema) return literal(schema.const);
  if (values) return values.map(literal).join(' | ');
  if (Array.isArray(type)) return unionOf(type.map((each) => ({ ...schema, type: each })));
  // Schemas of moments have a type beside the union of their formats.
  if (type !== undefined && type in PLAIN) return PLAIN[type]!;
  const members = anyOf ?? oneOf;
  if (members) return unionOf(members as Schema[]);
  if (type === 'array') return `Array<${typeOf(items as Schema)}>`;
  if (type !== 'object') throw new Error(`no type for ${JSON.stringify(schema)}`);
  if (properties && Object.keys(properties).length > 0) return fields(schema);
  return typeof additionalProperties === 'object'
    ? `Record<string, ${typeOf(additionalProperties)}>`
    : 'Record<string, never>';
}

function unionOf(members: readonly Schema[]): string {
  const union = [...new Set(members.map(typeOf))].join(' | ');
  return AS_TYPED[union] ?? union;
}

function fields({ properties = {}, required = [] }: Schema): string {
  const lines = Object.entries(properties as Record<string, Schema>).map(([name, schema]) =>
    required.includes(name)
      ? `${docOf(schema)}${name}: ${typeOf(schema)};`
      : `${docOf(schema)}${name}?: ${typeOf(schema)} | undefined;`,
  );
  return `{\n${lines.join('\n')}\n}`;
}

const nameOf = (id: string) => RENAMED[id] ?? id;
const literal = (value: unknown) => (typeof value === 'string' ? `'${value}'` : String(value));
const docOf = ({ description }: Schema) => (description ? `/** ${description} */\n` : '');

function procedureOf(name: string, operation: Operation): string {
  const { readOnly, streams, input, output, summary, description } = operation;
  const kind = streams ? 'Subscription' : readOnly ? 'Query' : 'Mutation';
  const doc = docOf({ description: `${summary}. ${description}` });
  return `${doc}${name}: ${kind}<${typeOfZod(input, 'input')}, ${typeOfZod(output, 'output')}>;`;
}

function generated(): string {
  const resources = Object.entries(contract).map(([resource, operations]) => {
    const named = Object.entries(operations as Record<string, Operation>);
    return `${resource}: {\n${named.map(([name, operation]) => procedureOf(name, operation)).join('\n')}\n};`;
  });
  for (const schema of [errorSchema, webhookPayloadSchema]) typeOfZod(schema, 'output');
  const types = [...definitions]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, schema]) => `${docOf(schema)}export type ${nameOf(name)} = ${typeOf(schema)};`);
  const procedures = `/** The procedures, by resource and name. */\nexport interface Procedures {\n${resources.join('\n')}\n}`;
  return formatted([HEAD, ...types, procedures].join('\n\n'));
}

function formatted(text: string): string {
  const biome = fileURLToPath(new URL('../node_modules/.bin/biome', import.meta.url));
  const args = ['format', `--stdin-file-path=${fileURLToPath(FILE)}`];
  return execFileSync(biome, args, { input: text, encoding: 'utf8' });
}

const text = generated();
if (!process.argv.includes('--check')) {
  writeFileSync(FILE, text);
} else if (!existsSync(FILE) || readFileSync(FILE, 'utf8') !== text) {
  console.error('src/client/contract.ts is stale: run `npm run openapi` and commit the file.');
  process.exit(1);
}
