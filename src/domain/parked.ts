/** Among the addresses of wallets that a parked record may have paid: nothing tells whom it paid. */
export const ANY_WALLET = '*';
