/** `mcp`: the operations of a running service as tools for assistants. */
import type { Command } from 'commander';
import type { Clock } from '../kit/clock.js';
import { packageVersion } from './program.js';
import { toHttpUrl } from './service.js';

interface Options {
  key?: string;
  url?: string;
}

/** What the environment says, read only when the command runs. */
interface Settings {
  given: () => { apiKey: string | null; url: string | null };
  /** URL of the service that is configured here. */
  serviceUrl: () => string;
}

export function registerMcpCommand(program: Command, { clock, given, serviceUrl }: Settings & { clock: Clock }): void {
  program
    .command('mcp')
    .description('serve a running service as tools of the Model Context Protocol, on stdin and stdout')
    .option(
      '--key <key>',
      'API key of the account, or STELLAR_COLLECT_API_KEY; with scope READ only tools that read are offered',
    )
    .option('--url <url>', 'the running service, or STELLAR_COLLECT_URL; the configured one by default', toHttpUrl)
    .action(async (options: Options) => {
      const apiKey = options.key?.trim() || given().apiKey;
      if (!apiKey) throw new Error('Give an API key with --key, or set STELLAR_COLLECT_API_KEY.');
      // A header with this key would be refused with an error that repeats it.
      if (!/^[\x21-\x7e]+$/.test(apiKey)) throw new Error('The API key has invalid characters.');
      const url = options.url ?? given().url ?? serviceUrl();
      // Loaded by nothing else: the package is large.
      const { serveMcp } = await import('../api/mcp/serve.js');
      await serveMcp({ apiKey, url, version: packageVersion() }, clock);
    });
}
