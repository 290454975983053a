/** What the driver sent to MongoDB, and whether it names the account that it is about: then a database divided by accounts answers it from one part. */
import type mongoose from 'mongoose';

type Doc = Record<string, any>;

/** A part of a command that finds or stores documents. */
export interface Access {
  /** `find`, `aggregate`, … */
  command: string;
  collection: string;
  /** What finds the documents, or one that is stored; undefined where everything is found. */
  filter: Doc | undefined;
}

/** Where the account stands, but for `accountId`. */
const ACCOUNT_FIELDS: Readonly<Record<string, string>> = {
  accounts: '_id',
  eventCounters: '_id',
};
/** These go on with what another command found, or look at no document. */
const WITHOUT_FILTER = new Set(
  'getMore killCursors commitTransaction abortTransaction endSessions ping hello'.split(' '),
);

/** @returns what grows with every command that the connection sends from now on */
export function recordAccesses(connection: mongoose.Connection): Access[] {
  const accesses: Access[] = [];
  connection
    .getClient()
    .on('commandStarted', ({ commandName, command }) => void accesses.push(...accessesOf(commandName, command)));
  return accesses;
}

/** The connection string with which a driver tells of its commands. */
export function monitored(uri: string): string {
  const url = new URL(uri);
  url.searchParams.set('monitorCommands', 'true');
  return url.href;
}

function accessesOf(name: string, command: Doc): Access[] {
  const collection = String(command[name]);
  const all = (filters: (Doc | undefined)[]) => filters.map((filter) => ({ command: name, collection, filter }));
  if (WITHOUT_FILTER.has(name)) return [];
  if (name === 'find') return all([command.filter]);
  if (name === 'distinct' || name === 'findAndModify') return all([command.query]);
  if (name === 'insert') return all(command.documents);
  if (name === 'update') return all(command.updates.map(({ q }: Doc) => q));
  if (name === 'delete') return all(command.deletes.map(({ q }: Doc) => q));
  if (name === 'aggregate') return accessesOfPipeline(collection, command.pipeline);
  throw new Error(`it is not known what ${name} finds`);
}

function accessesOfPipeline(collection: string, pipeline: Doc[]): Access[] {
  if (pipeline[0]?.$changeStream) return [];
  const joined = pipeline.flatMap(({ $unionWith, $lookup }) =>
    [$unionWith, $lookup].flatMap((other) =>
      other ? accessesOfPipeline(other.coll ?? other.from, other.pipeline) : [],
    ),
  );
  // Documents that come with the pipeline are of no collection.
  if (pipeline[0]?.$documents) return joined;
  return [{ command: 'aggregate', collection, filter: pipeline[0]?.$match }, ...joined];
}

/** Whether all that is found or stored is this account's. */
export function namesAccount({ collection, filter }: Access, accountId: string): boolean {
  const field = ACCOUNT_FIELDS[collection] ?? 'accountId';
  const names = (part: Doc | undefined): boolean =>
    part !== undefined &&
    (part[field] === accountId ||
      (part[field]?.$in?.length === 1 && part[field].$in[0] === accountId) ||
      (part.$and ?? []).some(names) ||
      (part.$or?.every(names) ?? false));
  return names(filter);
}
