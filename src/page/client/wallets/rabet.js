// Rabet, by the object that its extension puts into the page. It knows two networks, by names of its own.
import { fault } from './fault.js';

const NETWORKS = {
  'Public Global Stellar Network ; September 2015': 'mainnet',
  'Test SDF Network ; September 2015': 'testnet',
};

function rabet() {
  if (!window.rabet) throw fault('notHere');
  return window.rabet;
}

export async function connect(passphrase) {
  if (!NETWORKS[passphrase]) throw fault('networkUnknown');
  return (await rabet().connect()).publicKey;
}

export const sign = async (xdr, { passphrase }) => (await rabet().sign(xdr, NETWORKS[passphrase])).xdr;
