// biome-ignore-all lint/suspicious/noExplicitAny: rows are written and read as they lie in the database.
/** What keeps one from harming others and secrets from leaving: logs without documents, keys that can be changed. On a real database. */
import { randomBytes } from 'node:crypto';
import t from 'tap';
import { systemClock as clock } from '../../src/clock.js';
import { createLog } from '../../src/core/log.js';
import { checkSecretsKey, resealSecrets } from '../../src/core/secrets-key.js';
import { createSecretBox } from '../../src/domain/secrets.js';
import { sealedValues } from '../../src/stores/sealed-values.js';
import { newId, openStores } from '../helpers/stores.js';

t.test('a failed bulk write is logged with its name, code and message, and without its documents', async (t) => {
  const { db } = await openStores(t);
  const documents = Array.from({ length: 50 }, () => ({
    _id: 'same' as never,
    secret: 'hunter2',
    memo: 'x'.repeat(5000),
  }));
  const error = await db
    .collection('things')
    .bulkWrite(
      documents.map((document) => ({ insertOne: { document } })),
      { ordered: false },
    )
    .then(
      () => null,
      (error) => error,
    );
  const lines: string[] = [];
  createLog('info', { write: (line: string) => void lines.push(line) }).error({ err: error }, 'not stored');
  t.match(JSON.parse(lines[0]!), {
    msg: 'not stored',
    err: { name: 'MongoBulkWriteError', code: 11000, message: /E11000/ },
  });
  t.notMatch(lines[0], /hunter2|xxxx/);
  t.ok(lines[0]!.length < 4000, `${lines[0]!.length} characters`);
});

t.test('secrets move to a new key while old and new are both given; then the old one is not needed', async (t) => {
  const { db, stores } = await openStores(t);
  const [oldKey, newKey] = [randomBytes(32), randomBytes(32)];
  const before = createSecretBox(oldKey, clock);
  await checkSecretsKey(stores.system.installation, before);
  const ids = Array.from({ length: 3 }, () => newId('hook'));
  await db.collection<any>('webhooks').insertMany(
    ids.map((_id) => ({
      _id,
      secrets: ['one', 'two'].map((name) => ({ sealed: before.seal(`${name} of ${_id}`, _id), until: null })),
    })),
  );
  const openAll = async (box: typeof before) => {
    const rows = await db.collection<any>('webhooks').find({}).toArray();
    return rows.flatMap(({ _id, secrets }) => secrets.map(({ sealed }: { sealed: string }) => box.open(sealed, _id)));
  };

  const both = createSecretBox([newKey, oldKey], clock);
  await checkSecretsKey(stores.system.installation, both);
  t.equal((await openAll(both)).length, 6, 'the old key still opens');
  t.same(await resealSecrets(sealedValues(db), both), { resealed: 7, kept: 0 }, 'six secrets and the probe');
  t.same(await resealSecrets(sealedValues(db), both), { resealed: 0, kept: 7 }, 'again, nothing is left to do');

  const after = createSecretBox([newKey], clock);
  await checkSecretsKey(stores.system.installation, after);
  t.same((await openAll(after)).sort(), ids.flatMap((id) => [`one of ${id}`, `two of ${id}`]).sort());
  await t.rejects(checkSecretsKey(stores.system.installation, before), { name: 'StartupError' });
  await t.rejects(resealSecrets(sealedValues(db), before), {
    name: 'StartupError',
    message: /^7 secrets open with no key/,
  });
});
