/** `npm run bench [-- section …]`: measures and writes the results into bench-results/. Names and
 *  skips what cannot be measured here. */
import { fileURLToPath } from 'node:url';
import { type Section, writeReport } from './report.js';

const SECTIONS: Record<string, () => Promise<() => Promise<Section>>> = {
  size: async () => (await import('./size.js')).size,
  accounts: async () => (await import('./accounts.js')).accounts,
  'catch-up': async () => (await import('./catch-up.js')).catchUp,
  watching: async () => (await import('./watching.js')).watching,
  sources: async () => (await import('./sources.js')).sources,
  api: async () => (await import('./api.js')).api,
  webhooks: async () => (await import('./webhooks.js')).webhooks,
  streams: async () => (await import('./streams.js')).streams,
};

const asked = process.argv.slice(2);
const unknown = asked.filter((name) => !(name in SECTIONS));
if (unknown.length > 0) {
  console.error(`There is no section ${unknown.join(', ')}: ${Object.keys(SECTIONS).join(', ')}`);
  process.exit(1);
}
const folder = fileURLToPath(new URL('../../bench-results', import.meta.url));
const done: Section[] = [];
for (const name of asked.length > 0 ? asked : Object.keys(SECTIONS)) {
  console.log(name);
  const section = await (await SECTIONS[name]!())();
  done.push(section);
  await writeReport(folder, name, [section]);
}
console.log(await writeReport(folder, 'all', done));
process.exit(0);
