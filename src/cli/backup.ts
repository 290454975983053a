/** `backup` and `restore`: the whole database as a file. */
import type { Command } from 'commander';
import type { Config } from '../app/config.js';
import type { Clock } from '../kit/clock.js';
import { print } from './program.js';

const onProgress = (line: string) => void process.stderr.write(`${line}\n`);

/** @param deps.settings asked for only when a command runs */
export function registerBackupCommands(program: Command, deps: { clock: Clock; settings: () => Config }): void {
  program
    .command('backup')
    .description('write the whole database to a file, as it is at this moment; the service can keep running')
    .requiredOption('--out <file>', 'file to write; it appears once it is complete')
    .option('--json', 'print one line of JSON and nothing else')
    .action(async ({ out, json }: { out: string; json?: true }) => {
      const { writeBackup } = await import('../app/backup.js');
      const documents = await writeBackup(deps.settings(), out, deps.clock, onProgress);
      if (json) return print(JSON.stringify({ file: out, documents }));
      print(
        `${documents} documents in ${out}. Keep SECRETS_KEY (or DATA_DIR/secrets-key) as well, in a separate place.`,
      );
    });

  program
    .command('restore')
    .description('fill an empty database with a backup, before the service starts on it')
    .requiredOption('--from <file>', 'file that backup wrote')
    .option('--json', 'print one line of JSON and nothing else')
    .action(async ({ from, json }: { from: string; json?: true }) => {
      const { restoreBackup } = await import('../app/backup.js');
      const documents = await restoreBackup(deps.settings(), from, onProgress);
      if (json) return print(JSON.stringify({ documents }));
      print(`${documents} documents restored. Start the service with the same SECRETS_KEY as before.`);
      print(
        'Sessions and open invitations were left out: people sign in again, and who had not accepted is invited again.',
      );
      print(
        'Events are numbered on from the backup: set back the `sequence` that consumers keep to one that the backup has, or they skip events (docs/operations/backup.md). `webhook-sequence` goes on from the backup, too.',
      );
      print(
        'API keys, users and passkeys are as they were at the time of the backup: what was revoked or removed since works again. Look with `key list` and `user list`, and revoke with `key revoke` or in the dashboard.',
      );
    });
}
