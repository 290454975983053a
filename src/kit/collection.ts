/** Collections of MongoDB. A document is defined once: its fields give the TypeScript type and the
 *  mongoose schema. Mongoose defines, the driver queries: MongoDB stores what it is given. Of the
 *  schema only indexes and `hidden` fields are read; the rest is for the compiler and
 *  the reader. */
import mongoose from 'mongoose';

// The fields of a document: `String`, `Number`, `Boolean`, `Date` or `Buffer`; `[field]` is a
// list, `{ name: field }` a part; and the ones below.

class Typed<T> {
  declare readonly type: T;
  constructor(readonly path: Readonly<Record<string, unknown>>) {}
}

class Optional<T> extends Typed<T> {
  readonly isOptional = true;
}

type Field =
  | StringConstructor
  | NumberConstructor
  | BooleanConstructor
  | DateConstructor
  | BufferConstructor
  | Typed<unknown>
  | readonly [Field]
  | Fields;

interface Fields {
  readonly [name: string]: Field;
}

/** A text that is one of some. */
export const text = <T extends string>() => new Typed<T>({ type: String });

/** What a type from elsewhere describes: an object or a list. */
export const shape = <T>() => new Typed<T>({ type: Object });

/** Present and true, or missing. */
export const flag = () => new Optional<true>({ type: Boolean });

export const nullable = <const F extends Field>(field: F) => new Typed<TypeOf<F> | null>(pathOf(field));

/** A field that a document may lack. */
export const optional = <const F extends Field>(field: F) => new Optional<TypeOf<F>>(pathOf(field));

/** A field for queries alone, which pages and reads by id leave out. */
export const hidden = <const F extends Field>(field: F) => new Optional<TypeOf<F>>({ ...pathOf(field), select: false });

type TypeOf<F> =
  F extends Typed<infer T>
    ? T
    : F extends StringConstructor
      ? string
      : F extends NumberConstructor
        ? number
        : F extends BooleanConstructor
          ? boolean
          : F extends DateConstructor
            ? Date
            : F extends BufferConstructor
              ? Buffer
              : F extends readonly [infer Item]
                ? TypeOf<Item>[]
                : PartOf<F>;

type OptionalOf<F> = { [Name in keyof F]: F[Name] extends Optional<unknown> ? Name : never }[keyof F];
// Not by an `as` clause: editors would lose the comments of the fields.
type Of<F, Names extends keyof F> = { -readonly [Name in Names]: TypeOf<F[Name]> };
type PartOf<F> = Of<F, Exclude<keyof F, OptionalOf<F>>> & Partial<Of<F, OptionalOf<F>>>;

function pathOf(field: Field): Readonly<Record<string, unknown>> {
  if (field instanceof Typed) return field.path;
  if (typeof field === 'function') return { type: field };
  if (Array.isArray(field)) return { type: [pathOf(field[0])] };
  return { type: new mongoose.Schema(pathsOf(field as Fields), { _id: false }) };
}

const pathsOf = (fields: Fields) =>
  Object.fromEntries(Object.entries(fields).map(([name, field]) => [name, pathOf(field)]));

/** Before any date. A query that repeats this condition of a partial index can use it. */
export const EPOCH = new Date(0);

/** A collection's name, documents and indexes. */
export interface Definition<Doc> {
  readonly name: string;
  readonly schema: mongoose.Schema;
  /** Its type alone. */
  readonly doc?: Doc;
}

/** The document of a collection. */
export type DocOf<D> = D extends Definition<infer Doc> ? Doc : never;

type Index = mongoose.IndexOptions & { key: Readonly<Record<string, 1 | -1>> };

export function define<const F extends Fields>(
  name: string,
  fields: F,
  indexes: readonly Index[] = [],
): Definition<PartOf<F>> {
  const schema = new mongoose.Schema(pathsOf(fields), {
    collection: name,
    versionKey: false,
    // `makeIndexes` makes them.
    autoIndex: false,
    autoCreate: false,
  });
  for (const { key, ...options } of indexes) schema.index(key, options);
  return { name, schema };
}

/** MongoDB's filter for a field that a document lacks. */
export const NONE = null as unknown as undefined;

/** The driver's collection, as mongoose holds it. */
export type Collection<Doc extends object> = mongoose.mongo.Collection<Doc> & Pick<mongoose.Collection, 'conn'>;

export const openCollection = <Doc extends object>(
  connection: mongoose.Connection,
  { name, schema }: Definition<Doc>,
): Collection<Doc> => connection.model(name, schema).collection as never;

/** Makes the missing indexes of all collections that were opened, by one command for each: mongoose
 *  would take one for each index. */
export async function makeIndexes({ models }: mongoose.Connection): Promise<void> {
  const make = async ({ collection, schema }: mongoose.Model<unknown>) => {
    const indexes = schema.indexes().map(([key, options]) => ({ ...options, key }));
    if (indexes.length > 0) await collection.createIndexes(indexes as mongoose.mongo.IndexDescription[]);
  };
  await Promise.all(Object.values(models).map(make));
}

/** Makes a collection without indexes, where a transaction should not make it. */
export const makeCollection = async <Doc>(connection: mongoose.Connection, { name, schema }: Definition<Doc>) => {
  await connection.model(name, schema).createCollection();
};

/** Projection that leaves out the fields that are `hidden`, and others. */
export function projectionOf<Doc extends object>(
  collection: Collection<Doc>,
  unused: readonly string[] = [],
): Record<string, 0> {
  const { schema } = collection.conn.models[collection.collectionName]!;
  const isHidden = (field: string) => schema.path(field).options.select === false;
  return Object.fromEntries([...Object.keys(schema.paths).filter(isHidden), ...unused].map((field) => [field, 0]));
}
