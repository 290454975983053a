/** Server-sent events like Horizon's: a hello, the records of each new ledger, a byebye. */
import type { Request, Response } from 'express';
import type { Ledger } from '../ledger.js';
import { toJson } from './answer.js';
import type { List, ListRecord } from './lists.js';
import type { PageQuery } from './parameters.js';
import { Problem } from './problem.js';

/** Horizon ends every stream after this time; clients come back with `Last-Event-ID`. */
const STREAM_MS = 55_000;

const HELLO = 'retry: 1000\nevent: open\ndata: "hello"\n\n';
const BYEBYE = 'retry: 10\nevent: close\ndata: "byebye"\n\n';

/** Sends records until the page's limit, the time, the address's rate limit or the client ends it.
 *  Each check of a ledger costs a unit. An error before the first byte is an ordinary answer. */
export async function streamRecords(
  ledger: Ledger,
  req: Request,
  res: Response,
  list: List,
  page: PageQuery,
): Promise<void> {
  const isCutShort = ledger.faults.hit({ method: 'GET', path: req.path }, ['byebye']) !== null;
  const spend = () => {
    const spent = ledger.rateLimiter.spend({ method: 'GET', path: req.path, address: req.socket.remoteAddress ?? '' });
    if (!spent.isRefused) return;
    throw new Problem('rate_limit_exceeded');
  };
  spend();
  let cursor = page.cursor;
  let left = page.limit;
  let records = isCutShort ? [] : await list.read({ cursor, order: page.order, limit: left });
  if (records.length === 0 && !isCutShort && (await list.isUnknown?.())) {
    throw new Problem('not_found');
  }
  res.status(200);
  res.setHeader('Content-Type', 'text/event-stream; charset=utf-8');
  res.write(HELLO);
  if (isCutShort) return void res.end(BYEBYE);

  const ended = new AbortController();
  res.once('close', () => ended.abort());
  void ledger.clock.sleep(STREAM_MS, ended.signal).then(() => ended.abort());
  ledger.streams.add(ended);
  try {
    while (!ended.signal.aborted) {
      const closed = ledger.closer.nextClose(ended.signal);
      for (const record of records) {
        res.write(event(record));
        cursor = record.paging_token;
        left -= 1;
      }
      if (left <= 0) break;
      await closed;
      if (ended.signal.aborted) break;
      spend();
      records = await list.read({ cursor, order: page.order, limit: left });
    }
    res.end(BYEBYE);
  } catch (error) {
    const { type, detail } = error instanceof Problem ? error : new Problem('server_error');
    res.end(`event: error\ndata: problem: ${type}. full details: ${detail}\n\n`);
  } finally {
    ledger.streams.delete(ended);
    ended.abort();
  }
}

const event = (record: ListRecord): string => `id: ${record.paging_token}\ndata: ${toJson(record, 0)}\n\n`;
