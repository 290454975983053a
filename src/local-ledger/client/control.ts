/** The ledger's control endpoints, which neither Horizon nor Stellar RPC has. */
import type { ActiveFault } from '../faults.js';
import { LedgerRefusedError } from '../refusal.js';

export interface LedgerStatus {
  databaseId: string;
  sequence: number;
  closeMs: number;
  passphrase: string;
  isClosing: boolean;
  faults: ActiveFault[];
}

/** Slightly longer than the ledger itself waits. */
export const TIMEOUT_MS = 35_000;
/** Identifies a local ledger, regardless of faults. */
const STATUS_PATH = '/local-ledger';
const WHAT_TO_DO = 'start the service (npm start) or the ledger alone (npm run ledger), or give its address with --url';

export type LedgerControl = ReturnType<typeof createControl>;

export function createControl(url: string) {
  /** @throws LedgerRefusedError with one line when no local ledger answers, or it refuses */
  async function request<T>(method: string, path: string, body?: unknown): Promise<T> {
    const response = await fetch(new URL(path, url), {
      method,
      signal: AbortSignal.timeout(TIMEOUT_MS),
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    }).catch((error: unknown) => {
      throw new LedgerRefusedError(`no local ledger answers at ${url} (${reasonOf(error)}): ${WHAT_TO_DO}`);
    });
    const answer = (await response.json().catch(() => null)) as (T & { title?: string; detail?: string }) | null;
    if (answer === null || (response.ok && path === STATUS_PATH && !('databaseId' in (answer as object)))) {
      throw new LedgerRefusedError(`the server at ${url} is not a local ledger: ${WHAT_TO_DO}`);
    }
    if (response.ok) return answer;
    throw new LedgerRefusedError(`the ledger refused: ${answer.detail ?? answer.title ?? response.statusText}`);
  }

  return { request, status: () => request<LedgerStatus>('GET', STATUS_PATH) };
}

/** Why a request got no answer. */
function reasonOf(error: unknown): string {
  const { name, message, cause } = error as Error & { cause?: NodeJS.ErrnoException };
  if (name === 'TimeoutError') return `no answer within ${TIMEOUT_MS / 1000} s`;
  if (cause?.code === 'ECONNREFUSED') return 'nothing listens there';
  return cause?.message || cause?.code || message;
}
