/** Exports lists for the API and the cli, line by line, as of the moment when the export began. */
import type { downloads } from '../../contracts/exports.js';
import type { ParsedInputOf } from '../../contracts/operation.js';
import { rateLimited } from '../domain/api-error.js';
import { loadPayables } from '../payments/payable.js';
import { toCheckout } from '../resources/checkout.js';
import { checkoutLines, type Lines, paymentLines } from '../resources/export.js';
import type { Database, Session } from '../stores/database.js';
import type { ForAccount } from '../stores/index.js';
import type { Caller } from './caller.js';
import { filterOf as checkoutFilterOf } from './checkouts.js';
import { filterOf as paymentFilterOf, withProducts } from './payments.js';

type Downloads = typeof downloads;

/** A file being written. */
export interface Download {
  contentType: string;
  fileName: string;
  /** Chunks of some hundred lines. `return` ends the reading. @throws when MongoDB no longer has that moment */
  chunks: AsyncIterable<{ text: string; rows: number }>;
}

/** By the operations in `contracts/exports.ts`. */
export interface ExportService {
  payments: {
    export(caller: Pick<Caller, 'accountId'>, input: ParsedInputOf<Downloads['payments']['export']>): Download;
  };
  checkouts: {
    export(caller: Pick<Caller, 'accountId'>, input: ParsedInputOf<Downloads['checkouts']['export']>): Download;
  };
}

/** Exports running in this process: each holds a moment of the database. */
const MOST_IN_ALL = 50;
const RETRY_AFTER_S = 5;
/** Remembered products of one export, and as many wallets. */
const MOST_REMEMBERED = 500;

export function createExportService(deps: {
  forAccount: ForAccount<'payments' | 'checkouts' | 'products' | 'wallets'>;
  snapshot: Database['snapshot'];
  publicUrl: string;
  /** Running in this process at a time. */
  mostOfAccount: number;
}): ExportService {
  const { forAccount, snapshot, publicUrl, mostOfAccount } = deps;
  const running = new Map<string, number>();

  /** Counts the export from its first chunk to its end. @throws ApiError `rate_limited` when too many run already */
  function counted<T>(accountId: string, chunks: AsyncIterable<T>): AsyncIterable<T> {
    const mine = running.get(accountId) ?? 0;
    const all = [...running.values()].reduce((sum, count) => sum + count, 0);
    if (mine >= mostOfAccount || all >= MOST_IN_ALL) throw rateLimited(RETRY_AFTER_S);
    return (async function* () {
      running.set(accountId, (running.get(accountId) ?? 0) + 1);
      try {
        yield* chunks;
      } finally {
        const left = (running.get(accountId) ?? 1) - 1;
        if (left > 0) running.set(accountId, left);
        else running.delete(accountId);
      }
    })();
  }

  return {
    payments: {
      export({ accountId }, { format, ...filter }) {
        const { payments, products: stored } = forAccount(accountId);
        const lines = paymentLines(format);
        const products = remembering(stored);
        const batches = snapshot(async function* (session) {
          for await (const batch of payments.batches(paymentFilterOf(filter), session)) {
            yield await withProducts(batch, products, session);
          }
        });
        return toDownload(`payments.${format}`, lines, counted(accountId, chunksOf(batches, lines)));
      },
    },
    checkouts: {
      export({ accountId }, { format, ...filter }) {
        const stores = forAccount(accountId);
        const lines = checkoutLines(format);
        const remembered = { products: remembering(stores.products), wallets: remembering(stores.wallets) };
        const batches = snapshot(async function* (session) {
          for await (const batch of stores.checkouts.batches(checkoutFilterOf(filter), session)) {
            yield (await loadPayables(remembered, batch, session)).map((payable) => toCheckout(payable, publicUrl));
          }
        });
        return toDownload(`checkouts.${format}`, lines, counted(accountId, chunksOf(batches, lines)));
      },
    },
  };
}

type ById<Doc> = { byIds(ids: readonly string[], session?: Session): Promise<Doc[]> };

/** Reads each document once, not for each batch: it cannot change within the export's moment. */
function remembering<Doc extends { _id: string }>(stored: ById<Doc>): ById<Doc> {
  const known = new Map<string, Doc | null>();
  return {
    async byIds(ids, session) {
      if (known.size > MOST_REMEMBERED) known.clear();
      const unknown = ids.filter((id) => !known.has(id));
      for (const id of unknown) known.set(id, null);
      if (unknown.length > 0) for (const doc of await stored.byIds(unknown, session)) known.set(doc._id, doc);
      return ids.flatMap((id) => known.get(id) ?? []);
    },
  };
}

const toDownload = (
  fileName: string,
  { contentType }: Pick<Lines<never>, 'contentType'>,
  chunks: Download['chunks'],
): Download => ({ contentType, fileName, chunks });

async function* chunksOf<Item>(batches: AsyncIterable<Item[]>, { header, lineOf }: Lines<Item>): Download['chunks'] {
  if (header !== '') yield { text: header, rows: 0 };
  for await (const batch of batches) yield { text: batch.map(lineOf).join(''), rows: batch.length };
}
