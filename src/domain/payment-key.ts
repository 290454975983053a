/** Names a payment in memory, however often it is read, by the fields of the unique index after
 *  the account. */
export const paymentKeyOf = (payment: {
  walletId: string;
  operationId: string;
  changeIndex: number;
  transactionHash: string;
}): string => `${payment.walletId}:${payment.operationId}:${payment.changeIndex}:${payment.transactionHash}`;
