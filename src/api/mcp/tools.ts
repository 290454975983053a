/** The contract as tools of the Model Context Protocol: one for each operation, under its operationId, with schemas from the same zod contracts. */
import type { Tool } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';
import { contract } from '../../../contracts/index.js';
import { type Operation, operationIdOf } from '../../../contracts/operation.js';

interface ContractTool {
  operation: Operation;
  /** The tRPC procedure: `products.create`. */
  procedure: string;
  /** As a client lists it. */
  tool: Tool;
}

type Json = Record<string, unknown>;

/** By name. Streams are none: an answer of a tool ends. */
export function contractTools(): ReadonlyMap<string, ContractTool> {
  const tools = new Map<string, ContractTool>();
  for (const [resource, operations] of Object.entries(contract)) {
    for (const [name, operation] of Object.entries(operations as Record<string, Operation>)) {
      if (operation.streams) continue;
      const id = operationIdOf(resource, name);
      tools.set(id, { operation, procedure: `${resource}.${name}`, tool: toTool(id, operation) });
    }
  }
  return tools;
}

function toTool(name: string, operation: Operation): Tool {
  const { method, effect, summary, description, input, output } = operation;
  return {
    name,
    title: summary,
    description: `${summary}. ${description}`,
    inputSchema: toInputSchema(input),
    outputSchema: toOutputSchema(output),
    annotations: {
      readOnlyHint: effect === 'reads',
      destructiveHint: effect === 'changes',
      idempotentHint: method !== 'POST',
      openWorldHint: false,
    },
  };
}

/** A tool's answer for a procedure's result: `structuredContent` is always an object. */
export const toContent = (answer: unknown): Json => (Array.isArray(answer) ? { items: answer } : (answer as Json));

/** Without references, which not every assistant follows. */
function toInputSchema(input: z.ZodType): Tool['inputSchema'] {
  const { $defs = {}, ...schema } = toJsonSchema(input, 'input');
  return inlined(schema, $defs as Record<string, Json>) as Tool['inputSchema'];
}

function inlined(value: unknown, definitions: Record<string, Json>): unknown {
  if (Array.isArray(value)) return value.map((item) => inlined(item, definitions));
  if (typeof value !== 'object' || value === null) return value;
  const { $ref, ...rest } = value as Json;
  const named = typeof $ref === 'string' ? definitions[$ref.replace('#/$defs/', '')] : undefined;
  const entries = Object.entries({ ...named, ...rest });
  return Object.fromEntries(entries.map(([name, inner]) => [name, inlined(inner, definitions)]));
}

function toOutputSchema(output: z.ZodType): NonNullable<Tool['outputSchema']> {
  const { $ref, $defs, ...schema } = toJsonSchema(toContentSchema(output), 'output');
  const definitions = { ...($defs as Record<string, Json> | undefined) };
  const root = typeof $ref === 'string' ? definitions[$ref.replace('#/$defs/', '')] : undefined;
  return { type: 'object', ...root, ...schema, ...($defs ? { $defs: definitions } : {}) };
}

const toContentSchema = (output: z.ZodType): z.ZodType =>
  output instanceof z.ZodArray ? z.object({ items: output }) : output;

function toJsonSchema(schema: z.ZodType, io: 'input' | 'output'): Json {
  const { $schema: _, ...json } = z.toJSONSchema(schema, {
    io,
    override: ({ jsonSchema }) => {
      // A service that is newer may answer more.
      if (io === 'output' && jsonSchema.additionalProperties === false) delete jsonSchema.additionalProperties;
      if (io === 'output') delete jsonSchema.examples;
      // The next three say nothing that a caller could use.
      if (jsonSchema.format !== undefined) delete jsonSchema.pattern;
      if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
      if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
      // A contract that states a union's type has said all there is to say.
      if (jsonSchema.type !== undefined) delete jsonSchema.anyOf;
    },
  });
  return json;
}
