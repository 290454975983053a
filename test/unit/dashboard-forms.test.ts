/** What the dashboard's forms send of a resource that others change, too. */
import t from 'tap';
import { changesIn } from '../../src/dashboard/client/changed.js';

const product = { name: 'Mug', walletId: 'wal_1', price: '10', description: null, assetCode: 'XLM', assetIssuer: null };

t.test('who fills in a form changes the fields that are not as they were drawn, and no others', async (t) => {
  const { name: _, ...rest } = product;
  t.strictSame(changesIn(product, { ...product, active: true }), {});
  t.strictSame(changesIn({ ...rest, name: 'Cup', price: null }, product), { name: 'Cup', price: null });
  t.strictSame(changesIn({ ...product, description: 'Blue.' }, product), { description: 'Blue.' });
});

t.test('an asset is sent whole when its issuer is another', async (t) => {
  const drawn = { ...product, assetCode: 'USDC', assetIssuer: 'G1' };
  t.strictSame(changesIn({ ...drawn, assetIssuer: 'G2' }, drawn), { assetCode: 'USDC', assetIssuer: 'G2' });
});

t.test('what a form cannot show as it is stored is no change', async (t) => {
  const drawn = {
    name: ' Mug ',
    text: 'one\r\ntwo',
    note: '',
    order: { minutes: 60, fields: [{ key: 'a', label: 'A' }] },
  };
  const filled = {
    name: 'Mug',
    text: 'one\ntwo',
    note: null,
    order: { fields: [{ label: 'A', key: 'a' }], minutes: 60 },
  };
  t.strictSame(changesIn(filled, drawn), {});
  const fields = { order: { ...filled.order, fields: [] } };
  t.strictSame(changesIn({ ...filled, ...fields }, drawn), fields);
});
