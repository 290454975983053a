/** Owners of documents, each once: a query that names them asks their shards alone. */
export const accountsOf = (docs: readonly { accountId: string }[]): string[] => [
  ...new Set(docs.map(({ accountId }) => accountId)),
];
