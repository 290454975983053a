import { Keypair } from '@stellar/stellar-sdk';
import t from 'tap';
import { sealedRows } from '../../src/app/secrets-key.js';
import { signedBytes } from '../../src/domain/sep7.js';
import { systemClock } from '../../src/kit/clock.js';
import { createSecretBox } from '../../src/kit/secrets.js';
import { testDatabase } from '../helpers/mongo.js';
import { startSelling, startTestService, TEST_SECRETS_KEY } from '../helpers/service.js';

/** As a wallet does it: the signature is the last parameter, and covers all before it. */
function isSignedBy(publicKey: string, uri: string): boolean {
  const [, unsigned = '', signature = ''] = /^(.*)&signature=([^&]+)$/.exec(uri) ?? [];
  return Keypair.fromPublicKey(publicKey).verify(
    signedBytes(unsigned),
    Buffer.from(decodeURIComponent(signature), 'base64'),
  );
}

t.test(
  'payment requests are signed by the key that the domain of PUBLIC_URL shows, the same in every process',
  async (t) => {
    const database = await testDatabase(t);
    const env = { PUBLIC_URL: 'https://pay.shop.example' };
    const service = await startTestService(t, { database, env });
    const other = await service.join('api');
    const toml = await fetch(`${service.url}/.well-known/stellar.toml`);
    t.match(toml.headers.get('content-type'), /^text\/plain/);
    t.equal(toml.headers.get('access-control-allow-origin'), '*');
    const [, publicKey = ''] = /^URI_REQUEST_SIGNING_KEY = "(G[A-Z2-7]{55})"$/m.exec(await toml.text()) ?? [];
    t.match(await (await fetch(`${other.url}/.well-known/stellar.toml`)).text(), publicKey);

    const { link } = await startSelling(service);
    const { uri } = (await service.api('GET', `/payment-links/${link.id}/instructions`)).data;
    t.match(uri, /&origin_domain=pay\.shop\.example&signature=[^&]+$/);
    t.ok(isSignedBy(publicKey, uri));
    t.notOk(isSignedBy(publicKey, uri.replace('amount=25', 'amount=26')));
    for (const { url } of [service, other]) {
      const page = await (await fetch(`${url}/p/${link.slug}`)).text();
      const [, href = ''] = /href="(web\+stellar:[^"]+)"/.exec(page) ?? [];
      t.equal(href.replaceAll('&amp;', '&'), uri, 'Ed25519 signs alike each time');
    }

    const secrets = createSecretBox(Buffer.from(TEST_SECRETS_KEY, 'base64'), systemClock);
    const kept = [];
    for await (const { owner, sealed } of sealedRows(database.db as never)) if (owner === 'rqk_1') kept.push(...sealed);
    t.equal(kept.length, 1, 'a change of SECRETS_KEY finds it');
    t.equal(Keypair.fromRawEd25519Seed(Buffer.from(secrets.open(kept[0]!, 'rqk_1'), 'base64')).publicKey(), publicKey);
  },
);

t.test('where no domain can vouch for them, requests name none, and there is no stellar.toml', async (t) => {
  const service = await startTestService(t, { env: { PUBLIC_URL: 'https://pay.shop.example:8443' } });
  const { link } = await startSelling(service);
  const { uri } = (await service.api('GET', `/payment-links/${link.id}/instructions`)).data;
  t.notMatch(uri, /origin_domain|signature/);
  t.equal((await fetch(`${service.url}/.well-known/stellar.toml`)).status, 404);
  t.notOk(await service.context.stores.system.requestKeys.find(), 'no key is made');
});
