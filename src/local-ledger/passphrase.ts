/** The passphrase of Stellar's own standalone networks. */
export const PASSPHRASE = 'Standalone Network ; February 2017';
