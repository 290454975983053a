/** The stores' MongoDB in a simulated run: each command of the driver is an action of the
 *  scheduler, run by a real mongod or by one in memory. The database name identifies the process
 *  that sent a command. */
import { createRequire } from 'node:module';
import mongoose from 'mongoose';
import { connectDatabase, type Database } from '../../src/kit/database.js';
import { createStores } from '../../src/stores.js';
import {
  CommandError,
  createMemoryMongo,
  hexOf,
  NotSimulated,
  type UniqueKey,
  WRITE_CONFLICT,
} from './memory-mongo.js';
import type { Action, Process, Scheduler } from './scheduler.js';

const require = createRequire(createRequire(import.meta.url).resolve('mongoose'));
const { Connection } = require('mongodb/lib/cmap/connection.js');
const { updateSessionFromResponse } = require('mongodb/lib/sessions.js');
const { BSON, MongoServerError } = mongoose.mongo;

/** The driver waits between attempts at a transaction by a timer outside of the simulated clock. */
require('node:timers/promises').setTimeout = async () => undefined;

type Doc = Record<string, any>;

const WRITES = new Set(['insert', 'update', 'delete', 'findAndModify']);
const CONNECTIONS = 40;
const CONFLICT_MS = 20;
/** The same while a dead process holds documents: the driver waits longer with every attempt. */
const HELD_MS = 250;
const INTERRUPTED = 11_601;
const OUT_OF_DISK = 14_031;
const WRITE_CONCERN_TIMEOUT = 64;
const NO_SUCH_TRANSACTION = 251;
const TRANSACTION_TOO_OLD = 225;

interface Seat {
  process: Process;
  scheduler: Scheduler;
  database: SimulatedDatabase;
}

const seats = new Map<string, Seat>();
const seatsOfTransactions = new Map<string, Seat>();
/** Commands in these sessions are no steps of the scheduler. */
const sessionsOfTheDead = new WeakSet<object>();

/** Faults of a command, besides the death of its process. */
export type DatabaseFault = 'refused' | 'unheard' | null;

export interface Plan {
  delayMs: number;
  heardAfterMs: number;
  fault: DatabaseFault;
}

export interface SimulatedDatabase {
  /** A connection with a separate database name, which identifies the commands of the process. */
  seat(process: Process, scheduler: Scheduler): mongoose.Connection;
  transaction: Database['transaction'];
  /** Aborts a dead process's open transactions, as mongod does after their time limit. */
  forget(process: Process): Promise<void>;
  /** Dead processes that hold documents in an open transaction. */
  holders(): string[];
  docs(collection: string): Promise<Doc[]>;
  /** Returns its connections to the server. */
  release(): void;
}

export interface DatabaseServer {
  /** @param options.maxTransactionWrites documents that the database in memory takes in one
   *  transaction; by default any number */
  open(options: { plan: (command: string) => Plan; maxTransactionWrites?: number }): Promise<SimulatedDatabase>;
  close(): Promise<void>;
}

const originalCommand = Connection.prototype.command;
Connection.prototype.command = function (this: any, ns: any, command: Doc, options: Doc, responseType: any) {
  const kind = Object.keys(command)[0]!;
  const session = options?.session;
  if (kind === 'ping' && session) return tellNewestWrite(session, responseType);
  if (sessionsOfTheDead.has(session)) return originalCommand.call(this, ns, command, options, responseType);
  const lsid =
    session?.inTransaction() || kind === 'commitTransaction' || kind === 'abortTransaction' ? lsidOf(session) : null;
  const [written = ''] = namespacesOf(command);
  const seat =
    seats.get(written.split('.')[0]!) ??
    seats.get(ns.db) ??
    (lsid === null ? undefined : seatsOfTransactions.get(lsid));
  if (!seat) return originalCommand.call(this, ns, command, options, responseType);
  if (lsid !== null) seatsOfTransactions.set(lsid, seat);
  return step(seat, { connection: this, ns, command, options, responseType, kind, lsid });
};

/** Answers the driver's own query for the newest write, which no process sends. It takes no time,
 *  as otherwise the order of events would depend on chance. All writes come from this driver, so it
 *  knows the time of the newest one. */
async function tellNewestWrite(session: any, responseType: any): Promise<unknown> {
  const { clusterTime } = session.client.topology;
  if (clusterTime) session.advanceOperationTime(clusterTime.clusterTime);
  return replyOf({ ok: 1 }, responseType);
}

function replyOf(doc: Doc, responseType: any): unknown {
  const reply = BSON.serialize(doc);
  return responseType ? responseType.make(reply) : BSON.deserialize(reply);
}

/** Those of a command for several collections. */
const namespacesOf = ({ nsInfo }: Doc): string[] => nsInfo?.documents.map(({ ns }: Doc) => ns) ?? [];

const lsidOf = (session: any): string => hexOf(session.serverSession.id.id);

interface Call {
  connection: any;
  ns: any;
  command: Doc;
  options: Doc;
  responseType: any;
  kind: string;
  lsid: string | null;
}

function step({ process, scheduler, database }: Seat, call: Call): Promise<unknown> {
  const internals = database as Internals;
  const { kind, lsid, command } = call;
  const label = `${kind} ${typeof command[kind] === 'string' ? command[kind] : ''}${lsid === null ? '' : ' (transaction)'}`;
  // Draws no random numbers for a dead process, whose remaining commands come at
  // unpredictable times.
  if (!process.alive) return Promise.reject(serverError(INTERRUPTED, 'the process died'));
  const { delayMs, heardAfterMs, fault } = internals.plan(kind);
  const isWrite = WRITES.has(kind);
  return new Promise((resolve, reject) => {
    const action: Action = {
      label,
      process,
      readyMs: scheduler.nowMs() + delayMs,
      heardAfterMs,
      mayCrash: true,
      // In MongoDB the write would wait for the transaction; here it would block for ever.
      isBlocked: () => isWrite && lsid === null && internals.isWritten(command[kind]),
      drop: () => reject(serverError(INTERRUPTED, 'the process died')),
      run: async () => {
        // What was committed stays so, however often the commit is retried.
        const isCommitted = kind === 'commitTransaction' && lsid !== null && !internals.open.has(lsid);
        const refused = fault === 'refused' && !isCommitted && refusal(call);
        if (refused) {
          if (lsid !== null) await internals.abort(lsid);
          scheduler.log(`    refused: ${refused.message}`);
          return () => reject(refused);
        }
        try {
          const reply = await internals.execute(call, scheduler.nowMs(), process);
          if (fault === 'unheard' && kind === 'commitTransaction') {
            scheduler.log('    applied, but not acknowledged');
            return () => reject(serverError(WRITE_CONCERN_TIMEOUT, 'timed out', ['UnknownTransactionCommitResult']));
          }
          return () => resolve(reply);
        } catch (error) {
          if (error instanceof NotSimulated) throw error;
          scheduler.log(`    ${(error as Doc).code ?? error}`);
          if (lsid !== null) internals.open.delete(lsid);
          // Gives the other transaction time to end, because the driver's own wait is switched off.
          action.heardAfterMs ||= internals.holders().length > 0 ? HELD_MS : CONFLICT_MS;
          return () => reject(error as Error);
        }
      },
    };
    scheduler.enqueue(action);
  });
}

function refusal({ kind, lsid }: Call): Error | null {
  if (kind === 'abortTransaction') return null;
  if (lsid !== null) return serverError(WRITE_CONFLICT, 'WriteConflict', ['TransientTransactionError']);
  return serverError(OUT_OF_DISK, 'out of disk space');
}

const serverError = (code: number, errmsg: string, errorLabels: string[] = []) =>
  new MongoServerError({ ok: 0, code, errmsg, errorLabels });

interface Internals extends SimulatedDatabase {
  plan(command: string): Plan;
  /** Sessions with an open transaction: its process, the driver's session, and the collections that
   *  it has written to. */
  open: Map<string, { process: Process; session: any; written: Set<string> }>;
  /** Whether an open transaction has written to this collection. */
  isWritten(collection: string): boolean;
  execute(call: Call, nowMs: number, process: Process): Promise<unknown>;
  abort(lsid: string): Promise<void>;
}

/** @param kind `memory` uses the mongod only for the driver's handshakes */
export async function openDatabaseServer(uri: string, kind: 'memory' | 'real'): Promise<DatabaseServer> {
  const url = new URL(uri);
  const name = `simulation_${process.pid}`;
  url.pathname = `/${name}`;
  // Connections are made beforehand, because their times during a seed would depend on chance.
  url.searchParams.set('minPoolSize', String(CONNECTIONS));
  const main = await connectDatabase(url.href);
  const real = main.connection.db!;
  await untilConnected(main.connection.getClient());
  const free: mongoose.Connection[] = [];
  let made = 0;
  let indexed = false;

  async function prepare(connection: mongoose.Connection): Promise<UniqueKey[]> {
    const stores = createStores(connection, { clock: null as never, newId: null as never });
    if (!indexed && kind === 'real') {
      const direct = createStores(main.connection, { clock: null as never, newId: null as never });
      await direct.ensureIndexes();
    }
    indexed = true;
    void stores;
    return Object.values(connection.models).flatMap((model) =>
      model.schema
        .indexes()
        .filter(([, options]) => options?.unique)
        .map(([fields, options]) => ({
          collection: model.collection.name,
          fields: Object.keys(fields),
          partial: (options?.partialFilterExpression as Record<string, unknown>) ?? {},
        })),
    );
  }

  return {
    async open({ plan, maxTransactionWrites }) {
      const taken: mongoose.Connection[] = [];
      const sample = free[0] ?? main.connection.useDb(`${name}~${made++}`);
      if (!free.includes(sample)) free.push(sample);
      const uniqueKeys = await prepare(sample);
      const memory = kind === 'memory' ? createMemoryMongo(uniqueKeys, maxTransactionWrites) : null;
      const collections = Object.values(sample.models).map((model) => model.collection.name);
      if (!memory)
        await Promise.all(collections.map((each) => real.collection(each).deleteMany({}, { writeConcern: { w: 1 } })));
      const open: Internals['open'] = new Map();

      async function execute(call: Call, nowMs: number, process: Process): Promise<unknown> {
        const { connection, ns, options, responseType, kind: command, lsid } = call;
        const now = new Date(nowMs);
        for (const { id } of call.command.killSessions ?? []) open.delete(hexOf(id));
        if (lsid !== null) {
          if (command === 'commitTransaction' || command === 'abortTransaction') open.delete(lsid);
          else {
            const transaction = open.get(lsid) ?? { process, session: options.session, written: new Set() };
            if (WRITES.has(command)) transaction.written.add(call.command[command]);
            for (const each of namespacesOf(call.command)) transaction.written.add(each.split('.')[1]!);
            open.set(lsid, transaction);
          }
        }
        if (!memory) {
          const rewritten = withNow(call.command, now);
          if (rewritten.writeConcern) rewritten.writeConcern = { w: 1 };
          if (rewritten.nsInfo)
            rewritten.nsInfo = rewritten.nsInfo.documents.map(({ ns }: Doc) => ({ ns: ns.replace(/^[^.]*/, name) }));
          const real = ns.db.startsWith(name)
            ? Object.assign(Object.create(Object.getPrototypeOf(ns)), ns, { db: name })
            : ns;
          return originalCommand.call(connection, real, rewritten, options, responseType);
        }
        const message = connection.prepareCommand(ns.db, call.command, options);
        const sent = message.command ?? message;
        const key = lsid === null ? null : `${lsid}:${Number(sent.txnNumber)}`;
        // The driver does this when a reply arrives.
        if (lsid !== null) updateSessionFromResponse(options.session, { ok: 1 });
        const parsed = BSON.deserialize(
          BSON.serialize(plain(call.command), { ignoreUndefined: options.ignoreUndefined ?? false }),
        );
        if (sent.startTransaction) parsed.startTransaction = true;
        try {
          return replyOf(memory.execute(parsed, now, key), responseType);
        } catch (error) {
          if (error instanceof CommandError)
            throw serverError(error.code, error.message, key === null ? [] : error.labels);
          throw error;
        }
      }

      const database: Internals = {
        plan,
        open,
        execute,
        isWritten: (collection) => [...open.values()].some(({ written }) => written.has(collection)),
        async abort(lsid) {
          // A transaction whose first command was refused never began, and its number may still be
          // that of a committed one.
          const transaction = open.get(lsid);
          if (!transaction) return;
          open.delete(lsid);
          const { session } = transaction;
          const number = session.serverSession.txnNumber;
          if (memory) return memory.abort(`${lsid}:${number}`);
          // Imitates the dead session, because the driver puts the session's id and number into
          // the command.
          const inItsName = Object.defineProperty(main.connection.getClient().startSession(), 'serverSession', {
            value: Object.create(session.serverSession, { txnNumber: { value: number, writable: true } }),
          });
          sessionsOfTheDead.add(inItsName);
          await real
            .admin()
            .command({ abortTransaction: 1 }, { session: inItsName })
            .catch((error) => {
              if (error.code !== NO_SUCH_TRANSACTION && error.code !== TRANSACTION_TOO_OLD) throw error;
            });
        },
        seat(process, scheduler) {
          const connection = free.pop() ?? main.connection.useDb(`${name}~${made++}`);
          taken.push(connection);
          seats.set(connection.name, { process, scheduler, database });
          return connection;
        },
        transaction: main.transaction,
        async forget(process) {
          for (const [lsid, transaction] of [...open]) if (transaction.process === process) await database.abort(lsid);
        },
        holders: () => [...open.values()].flatMap(({ process }) => (process.alive ? [] : [process.name])),
        release() {
          for (const { name } of taken) seats.delete(name);
          for (const [lsid, seat] of seatsOfTransactions)
            if (seat.database === database) seatsOfTransactions.delete(lsid);
          free.push(...taken);
        },
        // In one batch: a process kills the sessions of another that died, and the driver may have
        // given one of these to this reader.
        docs: async (collection) =>
          memory ? memory.docs(collection) : real.collection(collection).find({}, { batchSize: 1_000_000 }).toArray(),
      };
      return database;
    },
    async close() {
      if (kind === 'real') await real.dropDatabase();
      await main.close();
    },
  };
}

async function untilConnected(client: mongoose.mongo.MongoClient): Promise<void> {
  const servers: Iterable<any> = (client as any).topology.s.servers.values();
  for (const server of servers) {
    while (server.pool.availableConnectionCount < CONNECTIONS) await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** Inlines the documents of bulk writes, which are a sequence beside the command. */
const plain = (command: Doc): Doc =>
  Object.fromEntries(
    Object.entries(command).map(([key, value]) => [key, Array.isArray(value?.documents) ? value.documents : value]),
  );

/** Replaces the server's time in commands by virtual time. */
function withNow(value: any, now: Date): any {
  if (value === '$$NOW') return now;
  if (Array.isArray(value)) return value.map((each) => withNow(each, now));
  if (typeof value !== 'object' || value === null || Object.getPrototypeOf(value) !== Object.prototype) return value;
  return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, withNow(each, now)]));
}
