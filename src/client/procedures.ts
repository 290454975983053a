/** Turns the contract's types into those of a tRPC router. */
import type {
  TRPCBuiltRouter,
  TRPCMutationProcedure,
  TRPCQueryProcedure,
  TRPCSubscriptionProcedure,
} from '@trpc/server';
import type { TRPC_ERROR_CODE_KEY, TRPC_ERROR_CODE_NUMBER } from '@trpc/server/rpc';
import type { ErrorBody, Procedures } from './contract.js';

/** tRPC's own shape, with REST's error object in `data.error`. */
export interface ApiErrorShape {
  message: string;
  code: TRPC_ERROR_CODE_NUMBER;
  data: { code: TRPC_ERROR_CODE_KEY; httpStatus: number; path?: string; error: ErrorBody };
}

interface Root {
  ctx: object;
  meta: object;
  errorShape: ApiErrorShape;
  transformer: false;
}

interface Typed<Input, Output> {
  /** Optional when all its fields are. */
  input: Record<never, never> extends Input ? Input | undefined : Input;
  output: Output;
  meta: object;
  errorShape: ApiErrorShape;
}

export type Query<Input, Output> = TRPCQueryProcedure<Typed<Input, Output>>;
export type Mutation<Input, Output> = TRPCMutationProcedure<Typed<Input, Output>>;
/** Each event carries the id to resume after. */
export type Subscription<Input, Output> = TRPCSubscriptionProcedure<
  Typed<Input, AsyncIterable<{ id: string; data: Output }>>
>;

/** Type for a tRPC client of your own: `createTRPCClient<AppRouter>`. It is derived from the
 *  contract, without server code. */
export type AppRouter = TRPCBuiltRouter<Root, { [Resource in keyof Procedures]: Procedures[Resource] }>;
