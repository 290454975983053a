/** The service is killed while it sends e-mails: each arrives all the same, known by its
 *  Message-ID, and no more than what was under way comes twice. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import t from 'tap';
import type { MailDoc } from '../../src/mail/mail-store.js';
import { startProgram } from '../helpers/command.js';
import { startMailServer } from '../helpers/mail-server.js';
import { freePort, testDatabase } from '../helpers/mongo.js';
import { eventually, startSelling, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

t.test('a process is killed in the middle of an e-mail → another sends it, once', async (t) => {
  const database = await testDatabase(t);
  const server = await startMailServer();
  t.teardown(() => server.close());
  const mail = { SMTP_URL: server.url, MAIL_FROM: 'pay@service.example' };
  // It records payments with their e-mails, and sends none.
  const api = await startTestService(t, { database, role: 'api', env: mail });
  const { wallet } = await startSelling(api);
  const docs = database.db.collection<MailDoc>('mails');
  const dataDir = await mkdtemp(join(tmpdir(), 'stellar-collect-mail-'));
  t.teardown(() => rm(dataDir, { recursive: true, force: true }));
  const startWorker = async () => {
    const env = {
      ...mail,
      MONGODB_URI: database.uri,
      SECRETS_KEY: TEST_SECRETS_KEY,
      DATA_DIR: dataDir,
      PORT: String(await freePort()),
      HORIZON_URLS_LOCAL: api.context.localLedger!.url,
      LOG_LEVEL: 'error',
    };
    const worker = startProgram('src/main.ts', ['--role', 'worker'], { env });
    t.teardown(() => worker.process.exitCode ?? worker.process.kill('SIGKILL'));
    await worker.says(/is ready/);
    return worker;
  };

  server.behave((to) => (to.startsWith('held') ? 'hang' : null));
  const first = await startWorker();
  const order = async (customerEmail: string) => {
    const fields = { walletId: wallet.id, name: 'Tee', assetCode: 'XLM', amount: '5', customerEmail };
    const { memo } = (await api.api('POST', '/checkouts', fields)).data;
    await api.context.localLedger!.client.pay({ to: wallet.address, amount: '5', memo });
  };
  for (const n of [1, 2, 3, 4]) await order(`held${n}@payer.example`);
  await eventually(async () => (await docs.countDocuments({ status: 'PENDING' })) === 4, 'all are to be sent');
  await eventually(async () => server.attempts.length === 2, 'two are under way');
  first.process.kill('SIGKILL');
  await first.ended;

  server.behave(() => null);
  await startWorker();
  await server.to('held4@payer.example');
  // The server has an e-mail before the worker has recorded that.
  await eventually(async () => (await docs.countDocuments({ status: 'SENT' })) === 2, 'the other two are recorded');
  t.equal(await docs.countDocuments({ status: 'PENDING' }), 2, 'what was under way waits for the end of its lease');
  // As if it had passed.
  await docs.updateMany({ status: 'PENDING' }, { $set: { 'lease.until': new Date(0) } });
  for (const n of [1, 2, 3, 4]) t.equal((await server.to(`held${n}@payer.example`)).length, 1);
  await eventually(async () => (await docs.countDocuments({ status: 'SENT' })) === 4, 'all are sent');
  t.equal(server.mails.length, 4);
  t.equal(server.attempts.length, 6, 'and no more was tried than what was under way');
  t.same(
    server.mails.map(({ parsed }) => parsed.messageId).sort(),
    (await docs.find().toArray()).map(({ _id }) => `<${_id}@service.example>`).sort(),
    'each is known by its own id, from whichever process',
  );
});
