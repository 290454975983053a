/** The history archive, and who its validator is. */
import { type Request, type Response, Router } from 'express';
import { ARCHIVE_FILES, type ArchiveFile, CHECKPOINT } from '../archive.js';
import type { Ledger } from '../ledger.js';
import { baseUrl } from './answer.js';
import { Problem } from './problem.js';

/** `ledger/00/00/3f/ledger-0000003f.xdr.gz`: the folders repeat the number. */
const FILE = /^\/archive\/([a-z]+)\/([0-9a-f]{2})\/([0-9a-f]{2})\/([0-9a-f]{2})\/\1-([0-9a-f]{8})\.xdr\.gz$/;
const CHECKPOINT_STATE =
  /^\/archive\/history\/([0-9a-f]{2})\/([0-9a-f]{2})\/([0-9a-f]{2})\/history-([0-9a-f]{8})\.json$/;

export function archiveRoutes({ archive, passphrase, validator }: Ledger): Router {
  const router = Router();

  /** The archive's own state; without buckets, because this ledger has none. */
  const state = (last: number) => ({
    version: 1,
    server: 'local-ledger 1.0.0',
    currentLedger: last,
    networkPassphrase: passphrase,
    currentBuckets: [],
  });

  router.get('/archive/.well-known/stellar-history.json', (_req, res) => {
    res.json(state(archive.newest()));
  });

  router.get(CHECKPOINT_STATE, (req, res) => {
    const last = numberIn(req.path, CHECKPOINT_STATE);
    if (last === null || (last + 1) % CHECKPOINT !== 0 || last > archive.newest()) throw new Problem('not_found');
    res.json(state(last));
  });

  router.get(FILE, async (req: Request, res: Response) => {
    const [, kind] = FILE.exec(req.path)!;
    const last = numberIn(req.path, FILE);
    const isKind = ARCHIVE_FILES.includes(kind as ArchiveFile);
    const file = isKind && last !== null ? await archive.file(kind as ArchiveFile, last) : null;
    if (!file) throw new Problem('not_found');
    res.type('application/gzip').end(file);
  });

  router.get('/.well-known/stellar.toml', (req, res) => {
    const base = baseUrl(req);
    res.setHeader('Access-Control-Allow-Origin', '*');
    res
      .type('text/plain')
      .end(
        [
          'VERSION = "2.0.0"',
          `NETWORK_PASSPHRASE = ${JSON.stringify(passphrase)}`,
          '',
          '[[VALIDATORS]]',
          'ALIAS = "local"',
          'DISPLAY_NAME = "The local ledger"',
          `PUBLIC_KEY = "${validator.publicKey()}"`,
          `HISTORY = "${base}/archive"`,
          '',
        ].join('\n'),
      );
  });
  return router;
}

/** The number of a path whose folders are those of its file; null otherwise. */
function numberIn(path: string, pattern: RegExp): number | null {
  const groups = pattern.exec(path)!.slice(1);
  const hex = groups.at(-1)!;
  return groups.slice(-4, -1).join('') === hex.slice(0, 6) ? Number.parseInt(hex, 16) : null;
}
