/** Errors of JSON-RPC, with the codes that stellar-rpc uses. */

export const PARSE_ERROR = -32700;
/** Also the code for ledgers outside the kept range. */
export const INVALID_REQUEST = -32600;
export const METHOD_NOT_FOUND = -32601;
export const INVALID_PARAMS = -32602;
export const INTERNAL_ERROR = -32603;

/** Thrown by a method, and answered as the call's `error`. */
export class RpcError extends Error {
  constructor(
    readonly code: number,
    message: string,
  ) {
    super(message);
  }
}

export const invalidParams = (message: string): RpcError => new RpcError(INVALID_PARAMS, message);
