/** Identifies a payment, however often it is read. The unique index of payments has the
 *  same fields. */
export const paymentKeyOf = (payment: {
  walletId: string;
  operationId: string;
  changeIndex: number;
  transactionHash: string;
}): string => `${payment.walletId}:${payment.operationId}:${payment.changeIndex}:${payment.transactionHash}`;
