// Albedo, a wallet that is a page: each question opens its window. It tells no network and signs for the one that it is told.
import { openWindow } from './other-window.js';

const ALBEDO = 'https://albedo.link/confirm';
const VERSION = 3;
const NETWORKS = {
  'Public Global Stellar Network ; September 2015': 'public',
  'Test SDF Network ; September 2015': 'testnet',
};

export const connect = async () => (await ask({ intent: 'public_key', token: randomToken() })).pubkey;

export async function sign(xdr, { account, passphrase }) {
  const network = NETWORKS[passphrase] ?? passphrase;
  return (await ask({ intent: 'tx', xdr, pubkey: account, network })).signed_envelope_xdr;
}

async function ask(request) {
  const wallet = openWindow(ALBEDO, 'auth.albedo.link');
  try {
    await wallet.hear(({ albedo }) => albedo);
    const id = randomToken();
    const answer = wallet.hear(({ albedoIntentResult: result }) => result?.__reqid === id && result);
    wallet.tell({ __reqid: id, __albedo_intent_version: VERSION, ...request });
    const { error, ...result } = await answer;
    if (error) throw error;
    return result;
  } finally {
    wallet.close();
  }
}

const randomToken = () => [...crypto.getRandomValues(new Uint32Array(4))].map((each) => each.toString(36)).join('');
