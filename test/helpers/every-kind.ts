/** Operations of every kind that pays, and of kinds that only seem to. */
import {
  Asset,
  BASE_FEE,
  Claimant,
  Keypair,
  Memo,
  Operation,
  TimeoutInfinite,
  TransactionBuilder,
  type xdr,
} from '@stellar/stellar-sdk';
import { type LedgerClient, muxedAddress } from '../../src/local-ledger/index.js';

export interface EveryKind {
  shop: Keypair;
  /** Issues EUR, and is a wallet too. */
  issuer: string;
  payer: Keypair;
}

/** Three accounts that hold lumens and EUR. */
export async function openAccounts(client: LedgerClient): Promise<EveryKind> {
  const [payer, shop] = [await client.fund(), await client.fund()];
  const issued = await client.issue({ code: 'EUR', amount: '1000', toSecret: payer.secret });
  const assetIssuer = issued.assetIssuer;
  await client.trust({ secret: shop.secret, assetCode: 'EUR', assetIssuer });
  return { shop: Keypair.fromSecret(shop.secret), issuer: assetIssuer, payer: Keypair.fromSecret(payer.secret) };
}

/** Submits payments and fakes. @returns the numbers of credits for the shop and for the issuer */
export async function payEveryKind(
  client: LedgerClient,
  { shop, issuer, payer }: EveryKind,
): Promise<{ shop: number; issuer: number }> {
  const to = shop.publicKey();
  const from = payer.publicKey();
  const eur = new Asset('EUR', issuer);
  const pay = (destination: string, amount: string, asset = Asset.native(), source?: string) =>
    Operation.payment({ destination, asset, amount, source });
  const submit = (operations: xdr.Operation[], memo?: string | Memo | null) =>
    client.submit({ from: payer, operations, memo });

  for (const memo of ['7K3M9QWX2RTF', '', 'INV\0-1', Memo.none(), Memo.id('18446744073709551615')] as const)
    await submit([pay(to, '1')], memo);
  for (const memo of [Memo.hash('11'.repeat(32)), Memo.return('22'.repeat(32))]) await submit([pay(to, '2')], memo);
  // Invalid UTF-8: each wrong byte counts, as in Go.
  for (const bytes of [
    [0x41, 0xff, 0xc3],
    [0xe2, 0x82, 0x41, 0x00],
    [0xf0, 0x9f, 0x92],
  ])
    await submit([pay(to, '0.0000001')], Memo.text(Buffer.from(bytes) as never));
  await submit([pay(muxedAddress(to, '0'), '3')], 'hidden by the id');
  await submit([pay(muxedAddress(to, '18446744073709551615'), '3', eur, muxedAddress(from, '7'))]);
  await submit([pay(to, '4', eur), pay(issuer, '5', eur), pay(from, '6'), pay(to, '7')], 'several');
  const path = { sendAsset: eur, destAsset: eur, path: [] };
  await submit(
    [
      Operation.pathPaymentStrictSend({ ...path, destination: to, sendAmount: '8', destMin: '1' }),
      Operation.pathPaymentStrictReceive({
        ...path,
        destination: muxedAddress(to, '9'),
        sendMax: '9',
        destAmount: '9',
      }),
      Operation.pathPaymentStrictSend({ ...path, destination: issuer, sendAmount: '2', destMin: '1' }),
    ],
    'paths',
  );

  const account = await client.server.loadAccount(from);
  const inner = new TransactionBuilder(account, {
    fee: BASE_FEE,
    networkPassphrase: client.passphrase,
    memo: Memo.text('bumped'),
  })
    .addOperation(pay(to, '10'))
    .addOperation(Operation.manageData({ name: 'between', value: 'two payments' }))
    .addOperation(pay(to, '11', eur))
    .setTimeout(TimeoutInfinite)
    .build();
  inner.sign(payer);
  const bump = TransactionBuilder.buildFeeBumpTransaction(client.root, '400', inner, client.passphrase);
  bump.sign(client.root);
  await client.server.submitTransaction(bump);

  await client.merge({ into: to, memo: 'all of it' });
  await client.merge({ into: muxedAddress(to, '12') });
  const contract = { assetCode: 'EUR', assetIssuer: issuer };
  await client.payByContract({ to, amount: '13', muxedId: '14' });
  await client.payByContract({ to, amount: '15', ...contract });
  await client.payByContract({ to, from: issuer, amount: '16', ...contract, muxedId: '0' });
  await client.payByContract({ to: issuer, from: to, amount: '1', ...contract });
  await client.inject({
    accounts: [to, issuer],
    record: {
      type: 'invoke_host_function',
      source_account: from,
      asset_balance_changes: [
        { asset_type: 'native', type: 'transfer', from: to, to: from, amount: '1.0000000' },
        { asset_type: 'native', type: 'transfer', from, to, amount: '2.0000000' },
        { asset_type: 'native', type: 'transfer', from, to, amount: '3.0000000', destination_muxed_id: '5' },
        {
          ...{ asset_type: 'credit_alphanum4', asset_code: 'EUR', asset_issuer: issuer },
          ...{ type: 'burn', from, amount: '4.0000000' },
        },
      ],
    },
  });

  // None of these pays the shop.
  await client.forge({ to, amount: '1000', muxedId: '5' });
  await client.forge({ to, amount: '1000', ...contract });
  await client.submit({ from: shop, operations: [pay(to, '8'), pay(from, '9')] });
  await client.submit({ from: payer, operations: [pay(to, '99999')] }).catch(() => undefined);
  await submit([Operation.createClaimableBalance({ asset: eur, amount: '1.5', claimants: [new Claimant(to)] })]);
  const [balance] = (await client.server.claimableBalances().claimant(to).call()).records;
  await client.submit({ from: shop, operations: [Operation.claimClaimableBalance({ balanceId: balance!.id })] });
  return { shop: 25, issuer: 4 };
}
