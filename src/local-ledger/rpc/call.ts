/** JSON-RPC 2.0: reads calls, runs their methods, writes answers. */
import { z } from 'zod';
import type { Ledger } from '../ledger.js';
import { INTERNAL_ERROR, INVALID_REQUEST, invalidParams, METHOD_NOT_FOUND, RpcError } from './error.js';
import { getEvents, getEventsParams } from './get-events.js';
import { getLedgers, getTransaction, getTransactionParams, getTransactions } from './get-transactions.js';
import {
  getFeeStats,
  getHealth,
  getLatestLedger,
  getLatestLedgerParams,
  getNetwork,
  getVersionInfo,
} from './network-methods.js';
import { pageSchema } from './range.js';
import { getLedgerEntries, getLedgerEntriesParams, sendTransaction, sendTransactionParams } from './state-methods.js';

export interface CallContext {
  ledger: Ledger;
  /** Scheme and host that the client used. */
  base: string;
  /** Called with errors that no method should throw. */
  onFailure(error: unknown): void;
}

type Method = (context: CallContext, params: unknown) => Promise<unknown>;

function method<Params>(
  schema: z.ZodType<Params>,
  run: (ledger: Ledger, params: Params, context: CallContext) => Promise<unknown>,
): Method {
  return async (context, params) => {
    const parsed = schema.safeParse(params ?? {});
    if (!parsed.success) throw invalidParams(`invalid parameters: ${z.prettifyError(parsed.error)}`);
    return await run(context.ledger, parsed.data, context);
  };
}

/** Clients send null, an empty list or an empty object. */
const nothing = z.unknown();

const methods = new Map<string, Method>(
  Object.entries({
    getHealth: method(nothing, getHealth),
    getNetwork: method(nothing, (ledger, _params, { base }) => getNetwork(ledger, base)),
    getVersionInfo: method(nothing, getVersionInfo),
    getLatestLedger: method(getLatestLedgerParams, getLatestLedger),
    getFeeStats: method(nothing, getFeeStats),
    getEvents: method(getEventsParams, getEvents),
    getTransaction: method(getTransactionParams, getTransaction),
    getTransactions: method(pageSchema, getTransactions),
    getLedgers: method(pageSchema, getLedgers),
    getLedgerEntries: method(getLedgerEntriesParams, getLedgerEntries),
    sendTransaction: method(sendTransactionParams, sendTransaction),
  }),
);

const callSchema = z.object({
  jsonrpc: z.literal('2.0'),
  id: z.union([z.string(), z.number(), z.null()]).optional(),
  method: z.string(),
  params: z.unknown().optional(),
});

/** The method of a body's first call; empty without one. */
export function methodOf(body: unknown): string {
  const call = callSchema.safeParse(Array.isArray(body) ? body[0] : body);
  return call.success ? call.data.method : '';
}

export const errorAnswer = (id: unknown, { code, message }: RpcError) => ({
  jsonrpc: '2.0',
  id: id ?? null,
  error: { code, message },
});

/** The answer to a single call or a batch; null when no answer is due. */
export async function answerBody(context: CallContext, body: unknown): Promise<unknown> {
  if (!Array.isArray(body)) return await answerCall(context, body);
  if (body.length === 0) return errorAnswer(null, new RpcError(INVALID_REQUEST, 'empty request batch'));
  const answers = [];
  for (const call of body) {
    const answer = await answerCall(context, call);
    if (answer !== null) answers.push(answer);
  }
  return answers.length === 0 ? null : answers;
}

async function answerCall(context: CallContext, body: unknown): Promise<unknown> {
  const call = callSchema.safeParse(body);
  if (!call.success) return errorAnswer(null, new RpcError(INVALID_REQUEST, 'invalid request'));
  const { id, method: name, params } = call.data;
  try {
    const run = methods.get(name);
    if (run === undefined) throw new RpcError(METHOD_NOT_FOUND, 'method not found');
    const result = await run(context, params);
    return id === undefined ? null : { jsonrpc: '2.0', id, result };
  } catch (error) {
    if (!(error instanceof RpcError)) context.onFailure(error);
    const known = error instanceof RpcError ? error : new RpcError(INTERNAL_ERROR, 'internal error');
    return id === undefined ? null : errorAnswer(id, known);
  }
}
