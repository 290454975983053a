// LOBSTR's extension, by the interface that its makers publish. It tells no network and signs with the account that it is set to.
import { getPublicKey, signTransaction } from '@lobstrco/signer-extension-api';

export const connect = () => getPublicKey();

export const sign = (xdr) => signTransaction(xdr);
