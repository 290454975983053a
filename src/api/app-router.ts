/** The router's type, for clients: it follows from the contract and knows nothing of the server. */
import type {
  TRPCBuiltRouter,
  TRPCMutationProcedure,
  TRPCQueryProcedure,
  TRPCSubscriptionProcedure,
} from '@trpc/server';
import type { TRPC_ERROR_CODE_KEY, TRPC_ERROR_CODE_NUMBER } from '@trpc/server/rpc';
import type { ErrorBody } from '../../contracts/errors.js';
import type { Contract } from '../../contracts/index.js';
import type { InputOf, OutputOf } from '../../contracts/operation.js';

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

/** An input that may be `{}` may be left out. */
type Optional<Input> = Record<never, never> extends Input ? Input | undefined : Input;

interface Typed<Op> {
  input: Optional<InputOf<Op>>;
  output: OutputOf<Op>;
  meta: object;
  errorShape: ApiErrorShape;
}
/** Each event comes with the id after which a stream goes on. */
type Streamed<Op> = Omit<Typed<Op>, 'output'> & { output: AsyncIterable<{ id: string; data: OutputOf<Op> }> };
type Procedure<Op> = Op extends { streams: true } ? TRPCSubscriptionProcedure<Streamed<Op>> : Called<Op>;
type Called<Op> = Op extends { method: 'GET' } ? TRPCQueryProcedure<Typed<Op>> : TRPCMutationProcedure<Typed<Op>>;
type Procedures = { [R in keyof Contract]: { [N in keyof Contract[R]]: Procedure<Contract[R][N]> } };

/** For a tRPC client that you make yourself: `createTRPCClient<AppRouter>`. */
export type AppRouter = TRPCBuiltRouter<Root, Procedures>;
