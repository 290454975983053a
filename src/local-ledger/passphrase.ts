/** Names the network, as Stellar's own standalone networks do. */
export const PASSPHRASE = 'Standalone Network ; February 2017';
