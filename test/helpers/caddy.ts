/** A real Caddy with the repository's Caddyfile, on ports of its own. */
import { spawn, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ROOT, run } from './command.js';
import { CACHE_DIR, freePort } from './mongo.js';
import { eventually } from './service.js';

/** Where `npm test` unpacks Debian's, because installing the package would start a web server. */
export const UNPACKED_CADDY = join(CACHE_DIR, 'caddy');

/** Null when there is none. */
export const findCaddy = (): string | null =>
  [process.env.CADDY_PATH ?? 'caddy', UNPACKED_CADDY].find(
    (program) => spawnSync(program, ['version'], { stdio: 'ignore' }).status === 0,
  ) ?? null;

/** Until the test ends. @param upstream host and port of the service @param address as in
 *  compose.yaml: a domain, or `http://localhost` */
export async function startCaddy(t: { teardown(end: () => unknown): void }, upstream: string, address: string) {
  const caddy = findCaddy()!;
  const home = await mkdtemp(join(tmpdir(), 'stellar-collect-caddy-'));
  t.teardown(() => rm(home, { recursive: true, force: true }));
  const env = { ADDRESS: address, UPSTREAM: upstream, XDG_DATA_HOME: home, XDG_CONFIG_HOME: home };
  const adapted = await run(caddy, ['adapt', '--config', join(ROOT, 'Caddyfile')], { env });
  if (adapted.code !== 0) throw new Error(adapted.stderr);
  const config = JSON.parse(adapted.stdout);
  const [httpPort, httpsPort] = [await freePort(), await freePort()];
  const { http } = config.apps;
  Object.assign(http, { http_port: httpPort, https_port: httpsPort });
  for (const server of Object.values<{ listen: string[] }>(http.servers))
    server.listen = server.listen.map((each) => `127.0.0.1:${each === ':443' ? httpsPort : httpPort}`);
  config.admin = { disabled: true };
  config.apps.pki = { certificate_authorities: { local: { install_trust: false } } };
  const file = join(home, 'config.json');
  await writeFile(file, JSON.stringify(config));
  const running = spawn(caddy, ['run', '--config', file], { env: { ...process.env, ...env }, stdio: 'ignore' });
  t.teardown(() => running.kill());
  const root = join(home, 'caddy/pki/authorities/local/root.crt');
  const isSecure = !address.startsWith('http:');
  const listens = () =>
    fetch(`http://localhost:${httpPort}/health/live`, { redirect: 'manual' }).then(
      () => true,
      () => false,
    );
  await eventually(async () => (await listens()) && (!isSecure || existsSync(root)), 'Caddy listens');
  return { httpPort, httpsPort, ca: isSecure ? await readFile(root, 'utf8') : undefined };
}
