/** What turns the contract's types into a tRPC router's. */
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
  /** One that may be `{}` may be left out. */
  input: Record<never, never> extends Input ? Input | undefined : Input;
  output: Output;
  meta: object;
  errorShape: ApiErrorShape;
}

export type Query<Input, Output> = TRPCQueryProcedure<Typed<Input, Output>>;
export type Mutation<Input, Output> = TRPCMutationProcedure<Typed<Input, Output>>;
/** Each event comes with the id after which a stream goes on. */
export type Subscription<Input, Output> = TRPCSubscriptionProcedure<
  Typed<Input, AsyncIterable<{ id: string; data: Output }>>
>;

/** For a tRPC client that you make yourself: `createTRPCClient<AppRouter>`. It follows from the contract and knows nothing of the server. */
export type AppRouter = TRPCBuiltRouter<Root, { [Resource in keyof Procedures]: Procedures[Resource] }>;
