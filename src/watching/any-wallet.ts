/** Stands for any wallet among those that a parked record may have paid: the record does not tell. */
export const ANY_WALLET = '*';
