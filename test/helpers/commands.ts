/** Records the driver's commands, and checks that they name their account, so that a database
 *  sharded by accounts answers them from one shard. */
import type mongoose from 'mongoose';

type Doc = Record<string, any>;

/** A part of a command that finds or stores documents. */
export interface Access {
  /** `find`, `aggregate`, … */
  command: string;
  collection: string;
  /** The filter, or a stored document; undefined when the command finds everything. */
  filter: Doc | undefined;
}

/** Fields that hold the account's id in collections without `accountId`. */
const ACCOUNT_FIELDS: Readonly<Record<string, string>> = {
  accounts: '_id',
  eventCounters: '_id',
};
/** Commands that continue another one, or access no documents. */
const WITHOUT_FILTER = new Set(
  'getMore killCursors commitTransaction abortTransaction endSessions ping hello'.split(' '),
);

/** @returns a list that grows with every further command of the connection */
export function recordAccesses(connection: mongoose.Connection): Access[] {
  const accesses: Access[] = [];
  connection
    .getClient()
    .on('commandStarted', ({ commandName, command }) => void accesses.push(...accessesOf(commandName, command)));
  return accesses;
}

/** The connection string that makes the driver report its commands. */
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
  if (name === 'bulkWrite')
    return command.ops.map(({ insert, document }: Doc) => {
      const { ns }: Doc = command.nsInfo[insert];
      return { command: 'insert', collection: ns.slice(ns.indexOf('.') + 1), filter: document };
    });
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
  // Documents in the pipeline itself belong to no collection.
  if (pipeline[0]?.$documents) return joined;
  return [{ command: 'aggregate', collection, filter: pipeline[0]?.$match }, ...joined];
}

/** Whether the access is limited to this account. */
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
