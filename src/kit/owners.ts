/** The distinct owners of documents: a query that names them asks only their shards. */
export const accountsOf = (docs: readonly { accountId: string }[]): string[] => [
  ...new Set(docs.map(({ accountId }) => accountId)),
];

/** Null where it is another account's. */
export const ownedBy = <Doc extends { accountId: string }>(accountId: string, doc: Doc | undefined): Doc | null =>
  doc?.accountId === accountId ? doc : null;
