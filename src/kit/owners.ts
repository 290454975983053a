/** The distinct owners of documents: a query that names them asks only their shards. */
export const accountsOf = (docs: readonly { accountId: string }[]): string[] => [
  ...new Set(docs.map(({ accountId }) => accountId)),
];
