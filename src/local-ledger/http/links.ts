/** The `_links` of each kind of resource. */

type Links = Record<string, { href: string; templated?: true }>;

const plain = (href: string) => ({ href });
const template = (href: string) => ({ href, templated: true as const });
const PAGE = '{?cursor,limit,order}';

export const operationLinks = (base: string, id: string, hash: string): Links => ({
  self: plain(`${base}/operations/${id}`),
  transaction: plain(`${base}/transactions/${hash}`),
  effects: plain(`${base}/operations/${id}/effects`),
  succeeds: plain(`${base}/effects?order=desc&cursor=${id}`),
  precedes: plain(`${base}/effects?order=asc&cursor=${id}`),
});

export const transactionLinks = (base: string, record: Record<string, unknown>): Links => {
  const self = `${base}/transactions/${record.hash}`;
  return {
    self: plain(self),
    account: plain(`${base}/accounts/${record.source_account}`),
    ledger: plain(`${base}/ledgers/${record.ledger}`),
    operations: template(`${self}/operations${PAGE}`),
    effects: template(`${self}/effects${PAGE}`),
    precedes: plain(`${base}/transactions?order=asc&cursor=${record.paging_token}`),
    succeeds: plain(`${base}/transactions?order=desc&cursor=${record.paging_token}`),
    transaction: plain(self),
  };
};

export const ledgerLinks = (base: string, sequence: unknown): Links => {
  const self = `${base}/ledgers/${sequence}`;
  return {
    self: plain(self),
    transactions: template(`${self}/transactions${PAGE}`),
    operations: template(`${self}/operations${PAGE}`),
    payments: template(`${self}/payments${PAGE}`),
    effects: template(`${self}/effects${PAGE}`),
  };
};

export const accountLinks = (base: string, id: string): Links => {
  const self = `${base}/accounts/${id}`;
  const lists = ['transactions', 'operations', 'payments', 'effects', 'offers', 'trades'];
  return {
    self: plain(self),
    ...Object.fromEntries(lists.map((list) => [list, template(`${self}/${list}${PAGE}`)])),
    data: template(`${self}/data/{key}`),
  };
};

export const claimableBalanceLinks = (base: string, id: string): Links => {
  const self = `${base}/claimable_balances/${id}`;
  return {
    self: plain(self),
    transactions: template(`${self}/transactions${PAGE}`),
    operations: template(`${self}/operations${PAGE}`),
  };
};

export const offerLinks = (base: string, { offerId, owner }: { offerId: bigint; owner: string }): Links => ({
  self: plain(`${base}/offers/${offerId}`),
  offer_maker: plain(`${base}/accounts/${owner}`),
});

export const effectLinks = (base: string, operation: string, token: string): Links => ({
  operation: plain(`${base}/operations/${operation}`),
  succeeds: plain(`${base}/effects?order=desc&cursor=${token}`),
  precedes: plain(`${base}/effects?order=asc&cursor=${token}`),
});

export const rootLinks = (base: string): Links => ({
  account: template(`${base}/accounts/{account_id}`),
  accounts: template(`${base}/accounts{?signer,sponsor,asset,liquidity_pool,cursor,limit,order}`),
  account_transactions: template(`${base}/accounts/{account_id}/transactions${PAGE}`),
  claimable_balances: template(`${base}/claimable_balances{?asset,sponsor,claimant,cursor,limit,order}`),
  assets: template(`${base}/assets{?asset_code,asset_issuer,cursor,limit,order}`),
  effects: template(`${base}/effects${PAGE}`),
  fee_stats: plain(`${base}/fee_stats`),
  friendbot: template(`${base}/friendbot{?addr}`),
  ledger: template(`${base}/ledgers/{sequence}`),
  ledgers: template(`${base}/ledgers${PAGE}`),
  liquidity_pools: template(`${base}/liquidity_pools{?reserves,account,cursor,limit,order}`),
  offer: template(`${base}/offers/{offer_id}`),
  offers: template(`${base}/offers{?selling,buying,seller,sponsor,cursor,limit,order}`),
  operation: template(`${base}/operations/{id}`),
  operations: template(`${base}/operations{?cursor,limit,order,include_failed}`),
  order_book: template(
    `${base}/order_book{?selling_asset_type,selling_asset_code,selling_asset_issuer,buying_asset_type,buying_asset_code,buying_asset_issuer,limit}`,
  ),
  payments: template(`${base}/payments{?cursor,limit,order,include_failed}`),
  self: plain(`${base}/`),
  strict_receive_paths: template(
    `${base}/paths/strict-receive{?source_assets,source_account,destination_account,destination_asset_type,destination_asset_issuer,destination_asset_code,destination_amount}`,
  ),
  strict_send_paths: template(
    `${base}/paths/strict-send{?destination_account,destination_assets,source_asset_type,source_asset_issuer,source_asset_code,source_amount}`,
  ),
  trade_aggregations: template(
    `${base}/trade_aggregations{?base_asset_type,base_asset_code,base_asset_issuer,counter_asset_type,counter_asset_code,counter_asset_issuer,start_time,end_time,resolution,offset,limit,order}`,
  ),
  trades: template(
    `${base}/trades{?base_asset_type,base_asset_code,base_asset_issuer,counter_asset_type,counter_asset_code,counter_asset_issuer,offer_id,trade_type,cursor,limit,order}`,
  ),
  transaction: template(`${base}/transactions/{hash}`),
  transactions: template(`${base}/transactions${PAGE}`),
});
