/** Refusals by the ledger, in one line for people. */

/** The message is one line; `codes` are Horizon's result codes, if any. */
export class LedgerRefusedError extends Error {
  override readonly name = 'LedgerRefusedError';

  constructor(
    message: string,
    readonly codes: string[] = [],
  ) {
    super(message);
  }
}

/** The refusal in an error of the SDK; null if the ledger did not refuse. */
export function toRefusal(error: unknown): LedgerRefusedError | null {
  if (error instanceof LedgerRefusedError) return error;
  const { response } = error as { response?: { data?: unknown } };
  const body = (response?.data ?? response) as
    | { title?: string; detail?: string; extras?: { result_codes?: Record<string, string | string[]> } }
    | undefined;
  const codes = Object.values(body?.extras?.result_codes ?? {}).flat();
  if (codes.length > 0) return new LedgerRefusedError(`the ledger refused the transaction: ${codes.join(', ')}`, codes);
  if (body?.title !== undefined) return new LedgerRefusedError(`the ledger refused: ${body.detail ?? body.title}`);
  return null;
}
