// Freighter, by the interface that its makers publish. It tells its network.
import { getNetworkDetails, requestAccess, signTransaction } from '@stellar/freighter-api';
import { fault } from './fault.js';

/** @param {string} passphrase of the page's network @returns the payer's account */
export async function connect(passphrase) {
  const { address } = answerOf(await requestAccess());
  const { networkPassphrase } = answerOf(await getNetworkDetails());
  if (networkPassphrase !== passphrase) throw fault('otherNetwork');
  return address;
}

/** @returns the signed transaction, base64 */
export async function sign(xdr, { account, passphrase }) {
  return answerOf(await signTransaction(xdr, { networkPassphrase: passphrase, address: account })).signedTxXdr;
}

/** It reports failures as values. */
function answerOf({ error, ...answer }) {
  if (error) throw error;
  return answer;
}
