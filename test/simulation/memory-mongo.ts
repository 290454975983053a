/** The part of MongoDB that the stores use, in memory: runs commands, with snapshot transactions,
 *  write conflicts and unique keys. Thousands of seeds run on it; the same seeds on a real mongod
 *  take the same steps, which proves it faithful. */
import { isDeepStrictEqual } from 'node:util';

type Doc = Record<string, any>;
type Collection = Map<string, Doc>;

interface Transaction {
  snapshot: Map<string, Collection>;
  startedAt: number;
  written: Map<string, Set<string>>;
}

export interface UniqueKey {
  collection: string;
  fields: readonly string[];
  /** Filter of a partial index. */
  partial: Doc;
}

export const WRITE_CONFLICT = 112;
const DUPLICATE_KEY = 11_000;
/** Any time: filters of indexes do not use it. */
const LONG_AGO = new Date(0);
const NO_SUCH_TRANSACTION = 251;
const TOO_LARGE_FOR_CACHE = 388;

/** A fault of the simulation, which processes must not treat as one of the database. */
export class NotSimulated extends Error {}

export class CommandError extends Error {
  constructor(
    readonly code: number,
    message: string,
    readonly labels: string[] = [],
  ) {
    super(message);
  }
}

export type MemoryMongo = ReturnType<typeof createMemoryMongo>;

export function createMemoryMongo(uniqueKeys: readonly UniqueKey[], maxTransactionWrites = Number.POSITIVE_INFINITY) {
  const committed = new Map<string, Collection>();
  const versions = new Map<string, number>();
  const lockedBy = new Map<string, Transaction>();
  const transactions = new Map<string, Transaction>();
  const finished = new Set<string>();
  let version = 0;
  const uniqueOf = (collection: string) => uniqueKeys.filter((key) => key.collection === collection);

  const collectionOf = (name: string, transaction: Transaction | null): Collection => {
    const all = transaction?.snapshot ?? committed;
    const found = all.get(name) ?? new Map();
    all.set(name, found);
    return found;
  };

  function write(name: string, id: string, doc: Doc | null, transaction: Transaction | null): void {
    const key = `${name}/${id}`;
    const holder = lockedBy.get(key);
    if (holder && holder !== transaction) throw conflict();
    if (transaction && (versions.get(key) ?? 0) > transaction.startedAt) throw conflict();
    if (doc) checkUnique(name, id, doc, transaction);
    if (transaction) {
      lockedBy.set(key, transaction);
      const written = transaction.written.get(name) ?? new Set();
      transaction.written.set(name, written.add(id));
      const total = [...transaction.written.values()].reduce((sum, ids) => sum + ids.size, 0);
      if (total > maxTransactionWrites) throw new CommandError(TOO_LARGE_FOR_CACHE, 'TransactionTooLargeForCache');
    } else {
      versions.set(key, ++version);
    }
    const collection = collectionOf(name, transaction);
    if (doc) collection.set(id, doc);
    else collection.delete(id);
  }

  function checkUnique(name: string, id: string, doc: Doc, transaction: Transaction | null): void {
    for (const { fields, partial } of uniqueOf(name)) {
      if (!matches(doc, partial, LONG_AGO)) continue;
      const same = (other: Doc) =>
        matches(other, partial, LONG_AGO) &&
        fields.every((field) => isDeepStrictEqual(other[field] ?? null, doc[field] ?? null));
      const clashes = (collection: Collection | undefined) =>
        [...(collection ?? [])].some(([otherId, other]) => otherId !== id && same(other));
      if (clashes(collectionOf(name, transaction)))
        throw new CommandError(DUPLICATE_KEY, `E11000 duplicate key in ${name}`);
      // The key was written by a transaction that committed after the snapshot, or is still open.
      if (transaction && clashes(committed.get(name))) throw conflict();
      for (const other of transactions.values()) {
        if (other !== transaction && clashes(writtenBy(other, name))) throw conflict();
      }
    }
  }

  const writtenBy = ({ written, snapshot }: Transaction, name: string): Collection =>
    new Map(
      [...(written.get(name) ?? [])].flatMap((id) => {
        const doc = snapshot.get(name)?.get(id);
        return doc ? [[id, doc] as const] : [];
      }),
    );

  const conflict = () => new CommandError(WRITE_CONFLICT, 'WriteConflict', ['TransientTransactionError']);

  function begin(key: string): Transaction {
    const snapshot = new Map([...committed].map(([name, docs]) => [name, new Map(docs)]));
    const transaction = { snapshot, startedAt: version, written: new Map() };
    transactions.set(key, transaction);
    return transaction;
  }

  function end(key: string, commits: boolean): void {
    const transaction = transactions.get(key);
    transactions.delete(key);
    if (!transaction) return;
    for (const [name, ids] of transaction.written) {
      for (const id of ids) {
        lockedBy.delete(`${name}/${id}`);
        if (!commits) continue;
        versions.set(`${name}/${id}`, ++version);
        const doc = transaction.snapshot.get(name)!.get(id);
        if (doc) collectionOf(name, null).set(id, doc);
        else collectionOf(name, null).delete(id);
      }
    }
    if (commits) finished.add(key);
  }

  function abortAllOf(session: string): void {
    for (const key of [...transactions.keys()]) if (key.startsWith(`${session}:`)) end(key, false);
  }

  function updateAll(name: string, update: Doc, now: Date, transaction: Transaction | null) {
    const collection = collectionOf(name, transaction);
    const found = [...collection].filter(([, doc]) => matches(doc, update.q, now));
    const chosen = update.multi ? found : found.slice(0, 1);
    let modified = 0;
    for (const [id, doc] of chosen) {
      const next = applyUpdate(doc, update.u, now, update.arrayFilters ?? [], false);
      if (isDeepStrictEqual(next, doc)) continue;
      write(name, id, next, transaction);
      modified += 1;
    }
    if (chosen.length > 0 || !update.upsert) return { matched: chosen.length, modified, upserted: null };
    const seed: Doc = {};
    for (const [field, value] of Object.entries(update.q)) {
      if (!field.startsWith('$') && !isOperators(value)) seed[field] = value;
    }
    const doc = applyUpdate(seed, update.u, now, [], true);
    if (collection.has(String(doc._id)))
      throw new CommandError(DUPLICATE_KEY, `E11000 duplicate key in ${name} index: _id_ dup key`);
    write(name, String(doc._id), doc, transaction);
    return { matched: 0, modified: 0, upserted: doc._id };
  }

  /** Null when it is stored. */
  function insert(name: string, doc: Doc, transaction: Transaction | null): Doc | null {
    try {
      if (collectionOf(name, transaction).has(String(doc._id)))
        throw new CommandError(DUPLICATE_KEY, `E11000 duplicate key in ${name}`);
      write(name, String(doc._id), doc, transaction);
      return null;
    } catch (error) {
      if (!(error instanceof CommandError) || error.code !== DUPLICATE_KEY) throw error;
      return { code: error.code, errmsg: error.message };
    }
  }

  function run(command: Doc, now: Date, transaction: Transaction | null): Doc {
    const [kind] = Object.keys(command) as [string];
    const name: string = command[kind];
    const all = () => [...collectionOf(name, transaction).values()];
    const cursor = (docs: Doc[]) => ({ ok: 1, cursor: { id: 0n, ns: `x.${name}`, firstBatch: docs } });
    switch (kind) {
      case 'insert': {
        const writeErrors: Doc[] = [];
        let n = 0;
        for (const [index, doc] of command.documents.entries()) {
          const refused = insert(name, doc, transaction);
          if (!refused) n += 1;
          else {
            writeErrors.push({ index, ...refused });
            if (command.ordered !== false) break;
          }
        }
        return { ok: 1, n, ...(writeErrors.length > 0 ? { writeErrors } : {}) };
      }
      case 'bulkWrite': {
        const counts = { nMatched: 0, nModified: 0, nUpserted: 0, nDeleted: 0 };
        for (const [idx, { insert: namespace, document }] of command.ops.entries()) {
          const refused = insert(command.nsInfo[namespace].ns.split('.')[1], document, transaction);
          if (!refused) continue;
          const writeErrors = [{ ok: 0, idx, ...refused }];
          return { ...cursor(writeErrors), ...counts, nErrors: 1, nInserted: idx };
        }
        return { ...cursor([]), ...counts, nErrors: 0, nInserted: command.ops.length };
      }
      case 'update': {
        const writeErrors: Doc[] = [];
        const upserted: Doc[] = [];
        let [n, nModified] = [0, 0];
        for (const [index, update] of command.updates.entries()) {
          try {
            const done = updateAll(name, update, now, transaction);
            n += done.matched + (done.upserted === null ? 0 : 1);
            nModified += done.modified;
            if (done.upserted !== null) upserted.push({ index, _id: done.upserted });
          } catch (error) {
            if (!(error instanceof CommandError) || error.code !== DUPLICATE_KEY) throw error;
            writeErrors.push({ index, code: error.code, errmsg: error.message });
            if (command.ordered !== false) break;
          }
        }
        return {
          ok: 1,
          n,
          nModified,
          ...(upserted.length > 0 ? { upserted } : {}),
          ...(writeErrors.length > 0 ? { writeErrors } : {}),
        };
      }
      case 'delete': {
        let n = 0;
        for (const { q, limit } of command.deletes) {
          const found = [...collectionOf(name, transaction)].filter(([, doc]) => matches(doc, q, now));
          for (const [id] of limit === 1 ? found.slice(0, 1) : found) {
            write(name, id, null, transaction);
            n += 1;
          }
        }
        return { ok: 1, n };
      }
      case 'findAndModify': {
        const before = sorted(all(), command.sort).find((doc) => matches(doc, command.query, now)) ?? null;
        if (!before && !command.upsert)
          return { ok: 1, value: null, lastErrorObject: { n: 0, updatedExisting: false } };
        if (command.remove) {
          write(name, String(before!._id), null, transaction);
          return { ok: 1, value: before, lastErrorObject: { n: 1 } };
        }
        const query = before ? { _id: before._id } : command.query;
        updateAll(
          name,
          { q: query, u: command.update, upsert: command.upsert, arrayFilters: command.arrayFilters },
          now,
          transaction,
        );
        const value = command.new ? collectionOf(name, transaction).get(String(before?._id ?? query._id)) : before;
        return { ok: 1, value: value ?? null, lastErrorObject: { n: 1, updatedExisting: before !== null } };
      }
      case 'find': {
        const found = sorted(
          all().filter((doc) => matches(doc, command.filter ?? {}, now)),
          // Documents looked up by ids come in the order of the index.
          command.sort ?? (command.filter?._id?.$in && { _id: 1 }),
        );
        const from = command.skip ?? 0;
        const page = found.slice(from, command.limit ? from + command.limit : undefined);
        return cursor(page.map((doc) => project(doc, command.projection, now)));
      }
      case 'distinct':
        return {
          ok: 1,
          values: [
            ...new Set(
              all()
                .filter((doc) => matches(doc, command.query ?? {}, now))
                .map((doc) => doc[command.key]),
            ),
          ].sort(),
        };
      case 'aggregate':
        return cursor(aggregate((name as unknown) === 1 ? [] : all(), command.pipeline, now, transaction));
      case 'ping':
      case 'endSessions':
        return { ok: 1 };
      default:
        throw new NotSimulated(`the simulation knows no command ${kind}`);
    }
  }

  function aggregate(input: Doc[], pipeline: Doc[], now: Date, transaction: Transaction | null): Doc[] {
    let docs = input;
    for (const stage of pipeline) {
      const [[operator, value]] = Object.entries(stage) as [[string, any]];
      switch (operator) {
        case '$documents':
          docs = value;
          break;
        case '$match':
          docs = docs.filter((doc) => matches(doc, value, now));
          break;
        case '$sort':
          docs = sorted(docs, value);
          break;
        case '$limit':
          docs = docs.slice(0, value);
          break;
        case '$project':
          docs = docs.map((doc) => project(doc, value, now));
          break;
        case '$skip':
          docs = docs.slice(value);
          break;
        case '$group': {
          if (value._id !== null && typeof value._id === 'string' && Object.keys(value).length === 1) {
            docs = [...new Set(docs.map((doc) => doc[value._id.slice(1)]))].map((_id) => ({ _id }));
          } else {
            docs = docs.length === 0 ? [] : [{ _id: null, n: docs.length }];
          }
          break;
        }
        case '$lookup':
          docs = docs.map((doc) => {
            const foreign = [...collectionOf(value.from, transaction).values()].filter((each) =>
              isDeepStrictEqual(each[value.foreignField], doc[value.localField]),
            );
            return { ...doc, [value.as]: aggregate(foreign, value.pipeline ?? [], now, transaction) };
          });
          break;
        case '$unwind': {
          const field = value.slice(1);
          docs = docs.flatMap((doc) => (doc[field] as unknown[]).map((each) => ({ ...doc, [field]: each })));
          break;
        }
        case '$replaceRoot':
          docs = docs.map((doc) => doc[value.newRoot.slice(1)]);
          break;
        default:
          throw new NotSimulated(`the simulation knows no stage ${operator}`);
      }
    }
    return docs;
  }

  return {
    /** @param key of the transaction, `SESSION:NUMBER`, null outside of one.
     *  @throws CommandError */
    execute(command: Doc, now: Date, key: string | null): Doc {
      const [kind] = Object.keys(command) as [string];
      if (kind === 'commitTransaction') {
        if (!transactions.has(key!) && !finished.has(key!))
          throw new CommandError(NO_SUCH_TRANSACTION, 'NoSuchTransaction', ['TransientTransactionError']);
        end(key!, true);
        return { ok: 1 };
      }
      if (kind === 'abortTransaction') {
        if (!transactions.has(key!)) throw new CommandError(NO_SUCH_TRANSACTION, 'NoSuchTransaction');
        end(key!, false);
        return { ok: 1 };
      }
      if (kind === 'killSessions') {
        for (const each of command.killSessions) abortAllOf(hexOf(each.id));
        return { ok: 1 };
      }
      let transaction: Transaction | null = null;
      if (key !== null) {
        transaction = command.startTransaction ? begin(key) : (transactions.get(key) ?? null);
        if (!transaction)
          throw new CommandError(NO_SUCH_TRANSACTION, 'NoSuchTransaction', ['TransientTransactionError']);
      }
      try {
        const reply = run(command, now, transaction);
        if (key !== null && reply.writeErrors) end(key, false);
        return reply;
      } catch (error) {
        if (key !== null) end(key, false);
        throw error;
      }
    },
    abort: (key: string) => end(key, false),
    /** The committed documents, for checks. */
    docs: (name: string): Doc[] => [...(committed.get(name)?.values() ?? [])],
  };
}

/** The id of a session as text. */
export const hexOf = (id: { buffer: Uint8Array }): string => Buffer.from(id.buffer).toString('hex');

const isOperators = (value: unknown): value is Doc =>
  typeof value === 'object' && value !== null && Object.keys(value)[0]?.startsWith('$') === true;

const at = (doc: any, path: string): any => {
  let value = doc;
  for (const part of path.split('.')) value = value?.[part];
  return value;
};

/** A field in an expression: for an array, the field of each element that has it. */
function read(doc: any, [part, ...rest]: readonly string[]): any {
  if (part === undefined) return doc;
  if (!Array.isArray(doc)) return read(doc?.[part], rest);
  return doc.map((each) => read(each, [part, ...rest])).filter((each) => each !== undefined);
}

const comparable = (value: any): any => (value instanceof Date ? value.getTime() : value);
const isSameType = (a: any, b: any) =>
  a !== null &&
  b !== null &&
  a !== undefined &&
  typeof comparable(a) === typeof comparable(b) &&
  a instanceof Date === b instanceof Date;
const equal = (a: any, b: any) => isDeepStrictEqual(a ?? null, b ?? null);

const elementsOf = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

function matches(doc: Doc, filter: Doc, now: Date): boolean {
  return Object.entries(filter).every(([field, condition]) => {
    if (field === '$or') return condition.some((each: Doc) => matches(doc, each, now));
    if (field === '$and') return condition.every((each: Doc) => matches(doc, each, now));
    if (field === '$expr') return evaluate(condition, doc, now) === true;
    const value = at(doc, field);
    if (!isOperators(condition)) return [value, ...elementsOf(value)].some((one) => equal(one, condition));
    return Object.entries(condition).every(([operator, operand]: [string, any]) => {
      switch (operator) {
        case '$eq':
          return equal(value, operand);
        case '$ne':
          return !equal(value, operand);
        case '$in':
          return operand.some((each: unknown) => [value, ...elementsOf(value)].some((one) => equal(one, each)));
        case '$nin':
          return !operand.some((each: unknown) => equal(value, each));
        case '$gt':
          return isSameType(value, operand) && comparable(value) > comparable(operand);
        case '$gte':
          return isSameType(value, operand) && comparable(value) >= comparable(operand);
        case '$lt':
          return isSameType(value, operand) && comparable(value) < comparable(operand);
        case '$lte':
          return isSameType(value, operand) && comparable(value) <= comparable(operand);
        case '$exists':
          return (value !== undefined) === operand;
        case '$size':
          return Array.isArray(value) && value.length === operand;
        default:
          throw new NotSimulated(`the simulation knows no filter ${operator}`);
      }
    });
  });
}

function sorted(docs: Doc[], sort: Doc | undefined): Doc[] {
  if (!sort) return docs;
  const keys = sort instanceof Map ? [...sort] : Object.entries(sort);
  return [...docs].sort((a, b) => {
    for (const [field, direction] of keys) {
      const [x, y] = [comparable(at(a, field)) ?? '', comparable(at(b, field)) ?? ''];
      if (x < y) return -direction;
      if (x > y) return direction;
    }
    return 0;
  });
}

function project(doc: Doc, projection: Doc | undefined, now: Date): Doc {
  const fields = Object.entries(projection ?? {});
  if (fields.length === 0) return doc;
  if (fields.every(([, shown]) => !shown))
    return Object.fromEntries(Object.entries(doc).filter(([name]) => !(name in projection!)));
  const wanted = fields.filter(([, shown]) => shown).map(([field]) => field);
  const shownOf = (field: string) =>
    typeof projection![field] === 'object' ? evaluate(projection![field], doc, now) : doc[field];
  const shown = wanted.map((field) => [field, shownOf(field)] as const);
  const result = Object.fromEntries(shown.filter(([, value]) => value !== undefined));
  return projection!._id === 0 ? result : { _id: doc._id, ...result };
}

function applyUpdate(before: Doc, update: Doc | Doc[], now: Date, arrayFilters: Doc[], isInsert: boolean): Doc {
  let doc = structuredClone(before);
  if (Array.isArray(update)) {
    for (const stage of update) {
      if (stage.$replaceWith) {
        doc = evaluate(stage.$replaceWith, doc, now);
        continue;
      }
      const values = Object.entries(stage.$set).map(
        ([field, expression]) => [field, evaluate(expression, doc, now)] as const,
      );
      for (const [field, value] of values) doc[field] = value;
    }
    return doc;
  }
  if (!Object.keys(update)[0]?.startsWith('$')) return { _id: doc._id, ...structuredClone(update) };
  for (const [operator, fields] of Object.entries(update) as [string, Doc][]) {
    for (const [path, value] of Object.entries(fields)) {
      if (operator === '$setOnInsert' && !isInsert) continue;
      const parts = path.split('.');
      const last = parts.pop()!;
      let targets: any[] = [doc];
      for (const part of parts) {
        const name = /^\$\[(\w*)\]$/.exec(part)?.[1];
        targets = targets.flatMap((target) => {
          if (name === undefined) return [target[part]];
          const conditions = arrayFilters.map((each) =>
            Object.fromEntries(
              Object.entries(each).map(([field, condition]) => [field.replace(/^\w+\./, ''), condition]),
            ),
          );
          return name === ''
            ? target
            : target.filter((each: Doc) => conditions.every((condition) => matches(each, condition, now)));
        });
      }
      for (const target of targets) {
        switch (operator) {
          case '$set':
          case '$setOnInsert':
            target[last] = structuredClone(value);
            break;
          case '$inc':
            target[last] = (target[last] ?? 0) + value;
            break;
          case '$max':
            if (target[last] === undefined || value > target[last]) target[last] = structuredClone(value);
            break;
          case '$unset':
            delete target[last];
            break;
          case '$addToSet': {
            const before = target[last] ?? [];
            target[last] = [...before, ...value.$each.filter((each: unknown) => !before.includes(each))];
            break;
          }
          case '$push': {
            const added = [...(target[last] ?? []), ...(value?.$each ?? [value])];
            target[last] = value?.$slice === undefined ? added : added.slice(value.$slice);
            break;
          }
          default:
            throw new NotSimulated(`the simulation knows no update ${operator}`);
        }
      }
    }
  }
  return doc;
}

function stroopsIn(amount: string): bigint {
  const [whole = '', fraction = ''] = amount.split('.');
  return BigInt(whole + fraction.padEnd(7, '0'));
}

function evaluate(expression: any, doc: Doc, now: Date, variables: Doc = {}): any {
  if (typeof expression === 'string' && expression.startsWith('$$')) {
    const [name, ...path] = expression.slice(2).split('.') as [string, ...string[]];
    if (name === 'NOW') return now;
    if (name === 'ROOT') return doc;
    const value = variables[name];
    return read(value, path);
  }
  if (typeof expression === 'string' && expression.startsWith('$')) return read(doc, expression.slice(1).split('.'));
  if (Array.isArray(expression)) return expression.map((each) => evaluate(each, doc, now, variables));
  if (typeof expression !== 'object' || expression === null || expression instanceof Date) return expression;
  if (!isOperators(expression)) {
    return Object.fromEntries(
      Object.entries(expression).map(([field, each]) => [field, evaluate(each, doc, now, variables)]),
    );
  }
  const [[operator, operand]] = Object.entries(expression) as [[string, any]];
  const value = (each: any, more: Doc = {}) => evaluate(each, doc, now, { ...variables, ...more });
  switch (operator) {
    case '$literal':
      return operand;
    case '$add': {
      const terms = operand.map((each: any) => value(each));
      const sum = terms.reduce((total: number, each: any) => total + Number(each), 0);
      return terms.some((each: any) => each instanceof Date) ? new Date(sum) : sum;
    }
    case '$ifNull':
      return operand.map((each: any) => value(each)).find((each: any) => each !== null && each !== undefined) ?? null;
    case '$or':
      return operand.some((each: any) => value(each));
    case '$and':
      return operand.every((each: any) => value(each));
    // Exact, unlike a number: in stroops.
    case '$toDecimal':
      return stroopsIn(value(operand));
    case '$toLong':
      return BigInt(value(operand));
    case '$subtract':
      return value(operand[0]) - value(operand[1]);
    case '$strLenBytes':
      return Buffer.byteLength(value(operand));
    case '$eq':
      return equal(value(operand[0]), value(operand[1]));
    case '$cond':
      return value(value(operand[0]) ? operand[1] : operand[2]);
    case '$lte':
      return comparable(value(operand[0])) <= comparable(value(operand[1]));
    case '$lt':
      return comparable(value(operand[0])) < comparable(value(operand[1]));
    case '$gte':
      return comparable(value(operand[0])) >= comparable(value(operand[1]));
    case '$gt':
      return comparable(value(operand[0])) > comparable(value(operand[1]));
    case '$min':
    case '$max': {
      const known = operand.map((each: any) => value(each)).filter((each: any) => each !== null && each !== undefined);
      const isBetter = (a: any, b: any) =>
        operator === '$min' ? comparable(a) < comparable(b) : comparable(a) > comparable(b);
      return known.reduce((best: any, each: any) => (best === null || isBetter(each, best) ? each : best), null);
    }
    case '$concatArrays':
      return operand.flatMap((each: any) => value(each));
    case '$slice':
      return operand[1] < 0 ? value(operand[0]).slice(operand[1]) : value(operand[0]).slice(0, operand[1]);
    case '$mergeObjects':
      return Object.assign({}, ...operand.map((each: any) => value(each)));
    case '$indexOfArray':
      return value(operand[0]).findIndex((each: any) => equal(each, value(operand[1])));
    case '$last':
      return value(operand)?.at(-1);
    case '$arrayElemAt':
      return value(operand[0]).at(value(operand[1]));
    case '$map':
      return value(operand.input).map((each: any) => value(operand.in, { [operand.as ?? 'this']: each }));
    case '$filter':
      return value(operand.input).filter((each: any) => value(operand.cond, { [operand.as ?? 'this']: each }));
    default:
      throw new NotSimulated(`the simulation knows no expression ${operator}`);
  }
}
