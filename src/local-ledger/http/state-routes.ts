/** Current state: root, health, fees, accounts. */
import { Router } from 'express';
import { accountRecord } from '../account-record.js';
import { feeStats } from '../fee-stats.js';
import type { Ledger } from '../ledger.js';
import { baseUrl, negotiate, sendHal, toJson } from './answer.js';
import { accountLinks, rootLinks } from './links.js';
import { accountId } from './parameters.js';
import { Problem } from './problem.js';
import { streamRecords } from './stream.js';

export const HORIZON_VERSION = 'local-ledger-1.0.0';
export const CORE_VERSION = 'local-ledger 1.0.0';

export function stateRoutes(ledger: Ledger): Router {
  const router = Router();
  addNetworkState(router, ledger);
  addAccounts(router, ledger);
  return router;
}

function addNetworkState(router: Router, ledger: Ledger): void {
  router.get('/', async (req, res) => {
    negotiate(req, false);
    const { latest, elder } = ledger.visible();
    const newest = (await ledger.history.ledger(latest))!;
    const protocol = ledger.faults.protocol('horizon');
    const fault = ledger.faults.hit({ method: 'GET', path: '/' }, ['wrong_passphrase']);
    await sendHal(req, res, {
      _links: rootLinks(baseUrl(req)),
      horizon_version: HORIZON_VERSION,
      core_version: CORE_VERSION,
      ingest_latest_ledger: latest,
      history_latest_ledger: latest,
      history_latest_ledger_closed_at: newest.closed_at,
      history_elder_ledger: elder,
      core_latest_ledger: ledger.head().sequence,
      network_passphrase: fault?.passphrase ?? ledger.passphrase,
      current_protocol_version: protocol,
      supported_protocol_version: protocol,
      core_supported_protocol_version: protocol,
    });
  });

  router.get('/health', (_req, res) => {
    res.setHeader('Content-Type', 'application/json; charset=utf-8');
    res.end(toJson({ database_connected: true, core_up: true, core_synced: true }));
  });

  router.get('/fee_stats', async (req, res) => {
    negotiate(req, false);
    const { latest } = ledger.visible();
    await sendHal(req, res, feeStats(latest, await ledger.history.recentFees(latest)));
  });
}

function addAccounts(router: Router, ledger: Ledger): void {
  router.get('/accounts/:account_id', async (req, res) => {
    const format = negotiate(req, true);
    const id = accountId(req);
    const read = async () => {
      const found = await ledger.account(id);
      if (found === null) throw new Problem('not_found');
      return { _links: accountLinks(baseUrl(req), id), ...accountRecord(found.account, found.owned) };
    };
    if (format === 'stream') {
      // The account comes once: Horizon detects changes by id only.
      const list = {
        read: async ({ cursor }: { cursor: string }) =>
          cursor === id ? [] : [{ ...(await read()), paging_token: id }],
      };
      await streamRecords(ledger, req, res, list, { cursor: '', order: 'asc', limit: 200 });
      return;
    }
    // Read first: the state may be newer than the header says, never older.
    const { latest } = ledger.visible();
    const body = await read();
    res.setHeader('Latest-Ledger', String(latest));
    await sendHal(req, res, body);
  });

  router.get('/accounts/:account_id/data/:key', async (req, res) => {
    negotiate(req, false);
    const found = await ledger.account(accountId(req));
    const data = found?.owned.find((entry) => entry.kind === 'data' && entry.name === req.params.key);
    if (data?.kind !== 'data') throw new Problem('not_found');
    res.setHeader('Latest-Ledger', String(ledger.visible().latest));
    await sendHal(req, res, { value: data.value });
  });
}
