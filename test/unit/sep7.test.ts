import { Account, Asset, BASE_FEE, Keypair, Memo, Networks, Operation, TransactionBuilder } from '@stellar/stellar-sdk';
import fc from 'fast-check';
import t from 'tap';
import { originDomainOf, type PayMemo, payUri, signedUri } from '../../src/domain/sep7.js';
import { privateKeyOf } from '../../src/domain/signature.js';

const DESTINATION = 'GA7QYNF7SOWQ3GLR2BGMZEHXAVIRZA4KVWLTJJFC7MGXUA74P7UJVSGZ';
const ISSUER = 'GA5ZSEJYB37JRC5AVCIA5MOP4RHTM335X2KGX3IHOJAPP5RE34K4KZVN';
const XLM = { code: 'XLM', issuer: null };
const USDC = { code: 'USDC', issuer: ISSUER };
const PUBLIC_PASSPHRASE = 'Public Global Stellar Network ; September 2015';

/** As a wallet reads it, strictly: only what RFC 3986 leaves unreserved may stand unencoded. */
function decode(uri: string): Record<string, string> {
  const [, query] = /^web\+stellar:pay\?(.+)$/.exec(uri) ?? [];
  if (query === undefined) throw new Error(`no pay request: ${uri}`);
  const pairs = query.split('&').map((pair) => {
    const [, name, value] = /^([a-z_]+)=((?:[A-Za-z0-9._~-]|%[0-9A-F]{2})*)$/.exec(pair) ?? [];
    if (name === undefined || value === undefined) throw new Error(`not encoded: ${pair}`);
    return [name, decodeURIComponent(value)] as const;
  });
  if (new Set(pairs.map(([name]) => name)).size !== pairs.length) throw new Error(`a parameter twice: ${uri}`);
  return Object.fromEntries(pairs);
}

const toMemo: Record<string, (value: string) => Memo> = {
  MEMO_TEXT: (value) => Memo.text(value),
  MEMO_ID: (value) => Memo.id(value),
  MEMO_HASH: (value) => Memo.hash(Buffer.from(value, 'base64').toString('hex')),
  MEMO_RETURN: (value) => Memo.return(Buffer.from(value, 'base64').toString('hex')),
};

/** Makes of the request the transaction that it asks for, with the official SDK. */
function transactionOf(uri: string) {
  const { destination, amount, asset_code, asset_issuer, memo, memo_type, network_passphrase } = decode(uri);
  const builder = new TransactionBuilder(new Account(Keypair.random().publicKey(), '1'), {
    fee: BASE_FEE,
    networkPassphrase: network_passphrase ?? Networks.PUBLIC,
  }).addOperation(
    Operation.payment({
      destination: destination!,
      amount: amount!,
      asset: asset_code === undefined ? Asset.native() : new Asset(asset_code, asset_issuer),
    }),
  );
  if (memo_type) builder.addMemo(toMemo[memo_type]!(memo!));
  return builder.setTimeout(60).build();
}

t.test('a request on the public network names no passphrase, a request for XLM no asset', async (t) => {
  const uri = payUri({ destination: DESTINATION, amount: '10.5', asset: XLM, memo: '7K3M9QX2TZ4A', network: 'PUBLIC' });
  t.equal(uri, `web+stellar:pay?destination=${DESTINATION}&amount=10.5&memo=7K3M9QX2TZ4A&memo_type=MEMO_TEXT`);
  t.equal(transactionOf(uri).networkPassphrase, PUBLIC_PASSPHRASE);
});

t.test('an issued asset has code and issuer, another network its passphrase', async (t) => {
  for (const [network, passphrase] of [
    ['TESTNET', Networks.TESTNET],
    ['LOCAL', Networks.STANDALONE],
  ] as const) {
    const uri = payUri({ destination: DESTINATION, amount: '1', asset: USDC, memo: null, network });
    t.strictSame(decode(uri), {
      destination: DESTINATION,
      amount: '1',
      asset_code: 'USDC',
      asset_issuer: ISSUER,
      network_passphrase: passphrase,
    });
    t.notMatch(uri.slice('web+'.length), /[+ ]/);
    const [operation] = transactionOf(uri).operations;
    t.match(operation, { type: 'payment', destination: DESTINATION, asset: { code: 'USDC', issuer: ISSUER } });
  }
});

t.test('without an amount the payer chooses', async (t) => {
  const uri = payUri({ destination: DESTINATION, amount: null, asset: XLM, memo: 'A', network: 'PUBLIC' });
  t.notOk('amount' in decode(uri));
});

t.test('every kind of memo reaches the transaction as it was', async (t) => {
  const hash = Buffer.alloc(32, 0xfb).toString('base64');
  t.match(hash, /\+/, 'base64 with characters that must be encoded');
  const memos: [PayMemo, string, string | null][] = [
    [{ type: 'text', value: 'Zahlung & Co = 100 %+#?' }, 'MEMO_TEXT', 'text'],
    [{ type: 'id', value: '18446744073709551615' }, 'MEMO_ID', 'id'],
    [{ type: 'hash', value: hash }, 'MEMO_HASH', 'hash'],
    [{ type: 'return', value: hash }, 'MEMO_RETURN', 'return'],
  ];
  for (const [memo, memoType, type] of memos) {
    const uri = payUri({ destination: DESTINATION, amount: '1', asset: XLM, memo, network: 'LOCAL' });
    t.match(decode(uri), { memo: memo.value, memo_type: memoType });
    const made = transactionOf(uri).memo;
    t.equal(made.type, type);
    const value = made.value instanceof Uint8Array ? Buffer.from(made.value) : made.value;
    t.same(typeof value === 'string' ? value : value!.toString(type === 'text' ? 'utf8' : 'base64'), memo.value);
  }
  const bare = payUri({ destination: DESTINATION, amount: '1', asset: XLM, memo: null, network: 'PUBLIC' });
  t.notMatch(bare, /memo/);
});

t.test('whatever a text memo holds, it decodes to the same', async () => {
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 28 }), (memo) => {
      const uri = payUri({ destination: DESTINATION, amount: null, asset: USDC, memo, network: 'TESTNET' });
      return decode(uri).memo === memo && decode(uri).memo_type === 'MEMO_TEXT';
    }),
  );
});

t.test('a request is signed as the example of SEP-7 is', async (t) => {
  const seed = Keypair.fromSecret('SBPOVRVKTTV7W3IOX2FJPSMPCJ5L2WU2YKTP3HCLYPXNI5MDIGREVNYC').rawSecretKey();
  const key = privateKeyOf(Buffer.from(seed).toString('base64'));
  const request =
    'web+stellar:pay?destination=GCALNQQBXAPZ2WIRSDDBMSTAKCUH5SG6U76YBFLQLIXJTF7FE5AX7AOO&amount=120.1234567&memo=skdjfasf&msg=pay%20me%20with%20lumens';
  t.equal(
    signedUri(request, 'someDomain.com', key),
    `${request}&origin_domain=someDomain.com&signature=JTlGMGzxUv90P2SWxUY9xo%2BLlbXaDloend6gkpyylY8X4bUNf6%2F9mFTMJs7JKqSDPRtejlK1kQvrsJfRZSJeAQ%3D%3D`,
  );
});

t.test('a domain vouches for requests only where its stellar.toml is this service’s', async (t) => {
  for (const [url, domain] of [
    ['https://pay.shop.example', 'pay.shop.example'],
    ['https://pay.shop.example/', 'pay.shop.example'],
    ['https://pay.shop.example:443', 'pay.shop.example'],
    ['https://PAY.shop.example', 'pay.shop.example'],
    ['https://bücher.example', 'xn--bcher-kva.example'],
    ['http://pay.shop.example', null],
    ['https://pay.shop.example:8443', null],
    ['https://pay.shop.example/pay', null],
    ['https://localhost', null],
    ['https://shop', null],
    ['https://192.0.2.7', null],
    ['https://[2001:db8::7]', null],
    ['http://127.0.0.1:3000', null],
  ] as const)
    t.equal(originDomainOf(url), domain, url);
});
