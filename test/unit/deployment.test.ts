/** The files to deploy the service with: what they name is there, and who sees what. Their services
 *  are run in test/e2e/compose.test.ts. */
import { readFileSync } from 'node:fs';
import { Ajv } from 'ajv';
import addFormats from 'ajv-formats';
import t from 'tap';
import { parse } from 'yaml';
import { fileOf, SECRETS, SETTINGS } from '../../src/app/settings.js';

const file = (name: string) => readFileSync(new URL(`../../${name}`, import.meta.url), 'utf8');
// YAML 1.1 merges keys by `<<`, as Compose does.
const yaml = (name: string) => parse(file(name), { merge: true });
const isSetting = (name: string) => name in SETTINGS || SECRETS.map(fileOf).includes(name);
const { version, workspaces } = JSON.parse(file('package.json'));
const IMAGE = `ghcr.io/stellar-collect/stellar-collect:${version}`;

const ajv = new Ajv({ strict: false });
addFormats.default(ajv);
// The Compose Specification's schema (github.com/compose-spec/compose-spec,
// schema/compose-spec.json, Apache-2.0).
const isCompose = ajv.compile({ ...JSON.parse(file('test/helpers/compose-spec.json')), $schema: undefined });

t.test('the image is made of every workspace, by a user without rights, for two processors', async (t) => {
  const dockerfile = file('Dockerfile');
  const copied = [...dockerfile.matchAll(/^COPY (\S+)\/package\.json \1\/$/gm)].map(([, folder]) => folder);
  t.same(copied, workspaces);
  const [, final = ''] = dockerfile.split(/^FROM node:24-bookworm-slim$/m);
  t.match(final, /^USER 1000:1000$/m);
  t.match(final, /^HEALTHCHECK /m);
  t.notMatch(final, /^ADD |--chmod|sudo/m);
  t.match(file('.dockerignore'), /^\.env$/m, 'what an operator has set goes into no image');
  const { image } = yaml('.github/workflows/release.yml').jobs;
  t.equal(image.needs, 'publish', 'only what passed is published');
  const { with: built } = image.steps.find(({ uses }: { uses?: string }) =>
    uses?.startsWith('docker/build-push-action@'),
  );
  t.match(built, { platforms: 'linux/amd64,linux/arm64', push: true, sbom: true, provenance: 'mode=max' });
});

t.test('compose.yaml is one by the public schema, and the schema finds faults', async (t) => {
  for (const name of ['compose.yaml', 'docs/operations/umbrel/docker-compose.yml']) {
    const compose = yaml(name);
    t.ok(isCompose(compose), `${name}: ${JSON.stringify(isCompose.errors)}`);
    t.notOk(isCompose({ ...compose, services: { api: { ...compose.services.api, restarts: 'x' } } }));
  }
});

interface Service {
  image: string;
  build?: string;
  user?: string;
  ports?: string[];
  volumes: string[];
  environment?: Record<string, unknown>;
  networks?: string[];
  read_only?: boolean;
  cap_drop?: string[];
  security_opt?: string[];
  healthcheck?: { disable?: boolean };
}

t.test('on one server the proxy alone is reached, and each service has what it needs and no more', async (t) => {
  const { services, volumes, networks } = yaml('compose.yaml') as {
    services: Record<string, Service>;
    [part: string]: any;
  };
  t.same(Object.keys(services).sort(), ['api', 'backup', 'mongo', 'proxy', 'secrets', 'worker']);
  for (const [name, service] of Object.entries(services)) {
    t.equal(Boolean(service.ports), name === 'proxy', `${name} is published`);
    t.equal(service.read_only, true, `${name} is read-only`);
    t.same([service.cap_drop, service.security_opt], [['ALL'], ['no-new-privileges:true']], name);
    // The image brings a check for what serves http.
    const isChecked = service.healthcheck ? !service.healthcheck.disable : service.image === IMAGE;
    t.equal(isChecked, name !== 'secrets', `${name} is checked`);
    if (service.image.includes('stellar-collect')) t.equal(service.image, IMAGE);
    for (const volume of service.volumes) t.ok(volume.split(':')[0]! in volumes || volume.startsWith('./'), volume);
    for (const setting of Object.keys(name === 'proxy' ? {} : (service.environment ?? {})))
      t.ok(isSetting(setting), setting);
  }
  const seenBy = (volume: string) =>
    Object.entries(services).flatMap(([name, service]) =>
      service.volumes.flatMap((each) =>
        each.startsWith(`${volume}:`) ? `${name}${each.endsWith(':ro') ? '' : ' writes'}` : [],
      ),
    );
  t.same(seenBy('secrets').sort(), ['api', 'backup', 'secrets writes', 'worker']);
  t.same(seenBy('mongo-secrets').sort(), ['mongo', 'secrets writes']);
  t.same(seenBy('backups'), ['backup writes']);
  t.same(networks.database, { internal: true });
  t.same(services.mongo!.networks, ['database']);
  t.same(services.backup!.networks, ['database']);
  t.equal(services.proxy!.networks, undefined, 'the proxy does not reach the database');
  t.same(
    Object.entries(services).flatMap(([name, { build }]) => (build ? name : [])),
    ['secrets'],
    'built once, by the service that starts first',
  );
});

t.test('the first payment takes ten commands or fewer, of services and files that there are', async (t) => {
  const [first = ''] = file('docs/operations/deploy.md').split(/^## What runs$/m);
  const commandsOf = (text: string) =>
    [...text.matchAll(/^```sh\n([\s\S]*?)^```$/gm)].flatMap(([, block]) => block!.trimEnd().split('\n'));
  const commands = commandsOf(first);
  t.ok(commands.length >= 3 && commands.length <= 10, commands.join('\n'));
  t.match(commands.join('\n'), /^docker compose up -d --wait$/m);
  const { services } = yaml('compose.yaml');
  for (const command of commandsOf(file('docs/operations/deploy.md'))) {
    const [, name] = /^docker compose (?:exec|run|cp)(?: -\S+(?: sh(?= ))?)* ([a-z]+)/.exec(command) ?? [];
    if (command.startsWith('docker compose') && !command.includes(' up ')) t.ok(name && name in services, command);
  }
});

t.test('the app for Umbrel is of this release, and reached through its proxy alone', async (t) => {
  const app = yaml('docs/operations/umbrel/umbrel-app.yml');
  const { services } = yaml('docs/operations/umbrel/docker-compose.yml');
  t.match(app, { id: 'stellar-collect', version, path: '/dashboard', deterministicPassword: true });
  t.equal(services.app_proxy.environment.APP_HOST, `${app.id}_api_1`);
  t.match(services.api, { image: IMAGE, user: '1000:1000', read_only: true, ports: undefined });
  t.match(services.api.environment, { SETUP_CODE: /APP_PASSWORD/, TRUST_PROXY: 1 });
});
