/** Simulated wallets in a payer's browser: each answers the messages, or has the objects, of the
 *  real one, and signs with a real key. */
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Keypair, TransactionBuilder } from '@stellar/stellar-sdk';
import type { Page } from 'playwright-core';
import { networkInfo } from '../../contracts/networks.js';

export interface PlayedWallet {
  key: Keypair;
  /** Passphrase of the wallet's selected network. */
  passphrase: string;
  /** The request that it refuses, and the wallet's error. */
  refuses: { what: 'connect' | 'sign'; error: unknown } | null;
  /** It never answers. */
  isSilent: boolean;
  /** It signs once this resolves. */
  waits: Promise<void>;
  /** The requests, in order. */
  asked: string[];
}

type Answer = { error: unknown } | { account: string; passphrase: string } | { signed: string; account: string };

/** Scripts that run in the page before its own; `ask(what, xdr?)` calls the simulated wallet. */
const EXTENSIONS = {
  freighter: `
addEventListener('message', async ({ source, data }) => {
  if (source !== window || data?.source !== 'FREIGHTER_EXTERNAL_MSG_REQUEST') return;
  const reply = (answer) =>
    postMessage({ source: 'FREIGHTER_EXTERNAL_MSG_RESPONSE', messagedId: data.messageId, ...answer }, location.origin);
  if (data.type === 'REQUEST_CONNECTION_STATUS') return reply({ isConnected: true });
  const { error, account, passphrase, signed } = await ask(data.type === 'SUBMIT_TRANSACTION' ? 'sign' : 'connect', data.transactionXdr);
  if (error) return reply({ apiError: error });
  if (data.type === 'REQUEST_ACCESS') return reply({ publicKey: account });
  if (data.type === 'REQUEST_NETWORK_DETAILS')
    return reply({ networkDetails: { network: 'X', networkUrl: 'x', networkPassphrase: passphrase } });
  if (data.accountToSign !== account) return reply({ apiError: { code: -1, message: 'no such account' } });
  reply({ signedTransaction: signed, signerAddress: account });
});`,
  lobstr: `
addEventListener('message', async ({ source, data }) => {
  if (source !== window || data?.source !== 'LOBSTR_EXTERNAL_MSG_REQUEST') return;
  const reply = (answer) =>
    postMessage({ source: 'LOBSTR_EXTERNAL_MSG_RESPONSE', messagedId: data.messageId, ...answer }, location.origin);
  if (data.type === 'REQUEST_CONNECTION_STATUS') return reply({ isConnected: true });
  const { error, account, signed } = await ask(data.type === 'SIGN' ? 'sign' : 'connect', data.dataToSign);
  if (error) return reply({ error });
  if (data.type === 'REQUEST_ACCESS') return reply({ publicKey: account, connectionKey: 'key-1' });
  reply(data.connectionKey === 'key-1' ? { signedData: signed, signerAddress: account } : { error: 'not connected' });
});`,
  hana: `
window.hanaWallet = { stellar: {
  getPublicKey: async () => orThrow(await ask('connect')).account,
  signTransaction: async ({ xdr, accountToSign }) => {
    const { account, signed } = orThrow(await ask('sign', xdr));
    if (accountToSign !== account) throw new Error('no such account');
    return signed;
  },
} };`,
  rabet: `
window.rabet = {
  connect: async () => ({ publicKey: orThrow(await ask('connect')).account }),
  sign: async (xdr) => ({ xdr: orThrow(await ask('sign', xdr)).signed }),
};`,
  xbull: `
window.xBullSDK = {
  getAddress: async () => { const { error, account } = await ask('connect'); return error ? { error } : { address: account }; },
  getNetwork: async () => ({ network: 'X', networkPassphrase: (await ask('connect')).passphrase }),
  signTransaction: async ({ xdr }) => {
    const { error, signed, account } = await ask('sign', xdr);
    return error ? { error } : { signedTxXdr: signed, signerAddress: account };
  },
};`,
};

const ASK = `
const ask = (what, xdr) => window.askWallet(what, xdr ?? null);
const orThrow = (answer) => { if (answer.error) throw answer.error; return answer; };`;

const NACL = readFileSync(createRequire(import.meta.url).resolve('tweetnacl/nacl-fast.min.js'), 'utf8');

/** Wallets that are web pages, with their addresses. */
const PAGES = {
  albedo: {
    at: 'https://albedo.link/**',
    script: `
addEventListener('message', async ({ data }) => {
  if (data?.intent === undefined) return;
  const { error, account, signed } = await ask(data.intent === 'tx' ? 'sign' : 'connect', data.xdr);
  const result = error ? { error } : { intent: data.intent, pubkey: account, signed_envelope_xdr: signed };
  opener.postMessage({ albedoIntentResult: { __reqid: data.__reqid, ...result } }, '*');
});
opener.postMessage({ albedo: { protocol: 3 } }, '*');`,
  },
  xbull: {
    at: 'https://wallet.xbull.app/**',
    script: `${NACL}
const to64 = (bytes) => btoa(String.fromCharCode(...bytes));
const from64 = (text) => Uint8Array.from(atob(text), (each) => each.charCodeAt(0));
const query = new URLSearchParams(location.search);
const theirs = from64(query.get('public'));
const ours = nacl.box.keyPair();
const seal = (value) => {
  const oneTimeCode = nacl.randomBytes(24);
  const message = nacl.box(new TextEncoder().encode(JSON.stringify(value)), oneTimeCode, theirs, ours.secretKey);
  return { message: to64(message), oneTimeCode: to64(oneTimeCode) };
};
addEventListener('message', async ({ data }) => {
  if (data?.type !== 'XBULL_CONNECT' && data?.type !== 'XBULL_SIGN') return;
  const open = nacl.box.open(from64(data.message), from64(data.oneTimeCode), theirs, ours.secretKey);
  const request = JSON.parse(new TextDecoder().decode(open));
  const { error, account, signed } = await ask(data.type === 'XBULL_SIGN' ? 'sign' : 'connect', request.xdr);
  const answer = error ? { success: false } : { success: true, ...seal({ publicKey: account, xdr: signed }) };
  opener.postMessage({ type: data.type + '_RESPONSE', ...answer }, '*');
});
opener.postMessage({ type: 'XBULL_INITIAL_RESPONSE', publicKey: to64(ours.publicKey), ...seal({ providedSession: query.get('session') }) }, '*');`,
  },
};
export type Played = { extension: keyof typeof EXTENSIONS } | { walletPage: keyof typeof PAGES };

/** Installs this wallet, and no other, in the page's browser. */
export async function playWallet(page: Page, which: Played, key: Keypair): Promise<PlayedWallet> {
  const { passphrase } = networkInfo.LOCAL;
  const played: PlayedWallet = { key, passphrase, refuses: null, isSilent: false, waits: Promise.resolve(), asked: [] };
  const context = page.context();
  await context.exposeFunction('askWallet', (what: 'connect' | 'sign', xdr: string | null) =>
    answer(played, what, xdr),
  );
  if ('extension' in which) await page.addInitScript(`(() => {${ASK}${EXTENSIONS[which.extension]}})();`);
  else {
    const { at, script } = PAGES[which.walletPage];
    const body = `<!doctype html><title>Wallet</title><script>${ASK}${script}</script>`;
    await context.route(at, (route) => route.fulfill({ contentType: 'text/html', body }));
  }
  return played;
}

async function answer(played: PlayedWallet, what: 'connect' | 'sign', xdr: string | null): Promise<Answer> {
  const { key, passphrase, refuses, isSilent, waits, asked } = played;
  asked.push(what);
  if (isSilent) return new Promise(() => {});
  if (refuses?.what === what) return { error: refuses.error };
  const account = key.publicKey();
  if (xdr === null) return { account, passphrase };
  await waits;
  const transaction = TransactionBuilder.fromXdr(xdr, passphrase);
  transaction.sign(key);
  return { signed: transaction.toXdr(), account };
}
