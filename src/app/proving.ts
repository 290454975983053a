/** Proofs of payments, composed: the archives of the settings, the makers of each network, and what
 *  the API reads. */
import { Agent, fetch as undiciFetch } from 'undici';
import { type Network, networkInfo } from '../../contracts/networks.js';
import type { Fetch } from '../ledger/index.js';
import type { PageProofs, PageTrust } from '../page/types.js';
import {
  type Archives,
  createArchives,
  createLocalValidators,
  createMaker,
  createPayerProof,
  createProver,
  createReadProof,
  createStatementOf,
  type LocalValidators,
  type Prover,
  type ReadProof,
} from '../proving/index.js';
import {
  createAddressGuard,
  createConnector,
  createHostResolver,
  isPublicAddress,
  type Keyring,
} from '../webhooks/index.js';
import type { Config } from './config.js';
import type { Core } from './core.js';
import { requestsPerHourOf } from './ledgers.js';

const CONNECT_MS = 10_000;

export interface Proving {
  prover: Prover;
  read: ReadProof;
  /** For payers' pages. */
  pages: PageProofs;
  close(): Promise<void>;
}

export function createProving(
  core: Core,
  config: Config,
  {
    localUrl,
    keyring,
    onTried,
  }: {
    /** The built-in ledger; null without one. */
    localUrl: string | null;
    keyring: Pick<Keyring, 'sign' | 'publicKeys'>;
    onTried: Parameters<typeof createProver>[0]['onTried'];
  },
): Proving {
  const { stores, ledgers, signals, clock, monotonic, publicUrl, processId: holder, log } = core;
  const { forAccount, system } = stores;
  const urlsOf = (network: Network) =>
    network === 'LOCAL' && localUrl !== null && config.archiveUrls.LOCAL.length === 0
      ? [`${localUrl}/archive`]
      : config.archiveUrls[network];
  const guarded = createGuarded(config);
  const archives = new Map<Network, Archives>();
  for (const network of config.networks) {
    const [urls, perHour] = [urlsOf(network), requestsPerHourOf(network, config)];
    if (urls.length === 0) continue;
    const budget = perHour === null ? null : system.requestBudgets.of(network, perHour);
    const fetch = network === 'LOCAL' ? undefined : guarded.fetch;
    archives.set(network, createArchives({ urls, budget, clock, monotonic, fetch }));
  }
  const local = createLocalValidators(localUrlOf(config, localUrl), { clock, monotonic });
  const makers = new Map(
    config.networks.map((network) => {
      const ledger = ledgers.get(network)!;
      const validators = local.validators;
      return [
        network,
        createMaker({ network, ledger, archives: archives.get(network) ?? null, validators, clock }),
      ] as const;
    }),
  );
  const statementOf = createStatementOf({ forAccount, publicUrl, sign: keyring.sign });
  const archived = new Set(archives.keys());
  const prover = createProver({ ...system, makers, onTried, holder, clock, monotonic, log });
  signals.proofsAsked.on(prover.wake);
  const proofsAsked = signals.proofsAsked.raise;
  const read = createReadProof({ forAccount, archived, statementOf, proofsAsked, clock, monotonic });
  return {
    prover,
    read,
    pages: {
      of: createPayerProof({ forAccount, checkouts: system.checkouts }, read),
      trust: async () => ({
        local: config.networks.includes('LOCAL') ? await localTrust(local) : null,
        statementKeys: await keyring.publicKeys(),
      }),
    },
    async close() {
      await Promise.all([...archives.values()].map((each) => each.close()));
      await local.close();
      await guarded.close();
    },
  };
}

/** Null while the ledger is away: the page works without it. */
const localTrust = (local: LocalValidators): Promise<PageTrust['local']> =>
  local.validators().then(
    (validators) => ({ passphrase: networkInfo.LOCAL.passphrase, validators }),
    () => null,
  );

/** The ledger that tells its validator: the built-in one, or the first of the settings. */
const localUrlOf = ({ networks, horizonUrls, rpcUrls }: Config, builtIn: string | null): string | null =>
  networks.includes('LOCAL') ? (builtIn ?? horizonUrls.LOCAL[0] ?? rpcUrls.LOCAL[0] ?? null) : null;

/** Connects as webhooks do: to public addresses, checked when the connection is opened, and to what
 *  the operator named as an address. */
function createGuarded({ webhookAllowPrivate, archiveUrls }: Config): { fetch: Fetch; close(): Promise<void> } {
  const named = new Set(
    Object.values(archiveUrls)
      .flat()
      .map((url) => new URL(url).hostname.replace(/^\[|\]$/g, '')),
  );
  if (named.has('localhost')) named.add('127.0.0.1').add('::1');
  const isAllowed = (address: string) => webhookAllowPrivate || named.has(address) || isPublicAddress(address);
  const resolver = createHostResolver({ timeoutMs: CONNECT_MS });
  const guard = createAddressGuard(isAllowed, resolver.resolve);
  const dispatcher = new Agent({
    connections: 4,
    connect: createConnector({ guard, timeoutMs: CONNECT_MS, developmentCa: null }),
  });
  return {
    fetch: (target, init) => undiciFetch(target, { ...init, dispatcher }),
    async close() {
      await dispatcher.destroy();
      resolver.close();
    },
  };
}
