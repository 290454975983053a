/** Reads XDR, the binary form of everything on the ledger, from bytes that cannot be trusted. A
 *  type is a function that reads one value. */

/** Bytes of their own buffer, as WebCrypto wants them. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** The bytes or fields do not prove what they claim. */
export class Invalid extends Error {}
/** The proof may be good, but this program cannot tell: a newer format, protocol or network. */
export class Unknown extends Error {}

/** No value of the ledger nests deeper: the network bounds contract values at 128. */
const MAX_DEPTH = 200;
/** The network's limits let a ledger have some ten thousand. Read, an element takes a hundred times
 *  the memory of its four bytes. */
const MAX_ELEMENTS = 250_000;

/** What is left of it; several values may share one. */
export interface Allowance {
  elements: number;
}

export const newAllowance = (): Allowance => ({ elements: MAX_ELEMENTS });

export class Reader {
  at = 0;
  #depth = 0;
  readonly #view: DataView;

  constructor(
    readonly bytes: Bytes,
    readonly allowance: Allowance = newAllowance(),
  ) {
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** The next bytes, which are not copied. */
  take(length: number): Bytes {
    const end = this.at + length;
    if (end > this.bytes.length) throw new Invalid('the bytes end too early');
    this.at = end;
    return this.bytes.subarray(end - length, end);
  }

  /** The offset of the next bytes, which it skips. */
  skip(length: number): number {
    this.take(length);
    return this.at - length;
  }

  u32 = (): number => this.#view.getUint32(this.skip(4));
  i32 = (): number => this.#view.getInt32(this.skip(4));
  u64 = (): bigint => this.#view.getBigUint64(this.skip(8));
  i64 = (): bigint => this.#view.getBigInt64(this.skip(8));

  nested<T>(read: Type<T>): T {
    if (++this.#depth > MAX_DEPTH) throw new Unknown('a value is nested too deeply');
    const value = read(this);
    this.#depth--;
    return value;
  }

  /** The whole of the bytes as one value. */
  static whole<T>(bytes: Bytes, type: Type<T>, allowance?: Allowance): T {
    const reader = new Reader(bytes, allowance);
    const value = type(reader);
    if (reader.at !== bytes.length) throw new Invalid('bytes are left over');
    return value;
  }
}

export type Type<T = unknown> = (reader: Reader) => T;
type Read<T> = T extends Type<infer V> ? V : never;

export const u32: Type<number> = (reader) => reader.u32();
export const i32: Type<number> = (reader) => reader.i32();
export const u64: Type<bigint> = (reader) => reader.u64();
export const i64: Type<bigint> = (reader) => reader.i64();
export const nothing: Type<null> = () => null;

export const opaque =
  (length: number): Type<Bytes> =>
  (reader) =>
    reader.take(length);
export const hash = opaque(32);

/** Bytes of any length, with the zeros that fill them up to a multiple of four. */
export const bytes: Type<Bytes> = (reader) => {
  const length = reader.u32();
  const value = reader.take(length);
  if (reader.take(-length & 3).some((byte) => byte !== 0)) throw new Invalid('padding is not zero');
  return value;
};

export const option =
  <T>(type: Type<T>): Type<T | null> =>
  (reader) => {
    const flag = reader.u32();
    if (flag > 1) throw new Invalid('an option is neither there nor absent');
    return flag === 1 ? type(reader) : null;
  };

/** Every element of a list takes at least four bytes, so that a false length ends with
 *  the bytes. @param most elements of this list */
export const list =
  <T>(type: Type<T>, most = Infinity): Type<T[]> =>
  (reader) => {
    const values: T[] = [];
    const length = reader.u32();
    if (length > most) throw new Unknown('a list is too long');
    for (let left = length; left > 0; left--) {
      if (--reader.allowance.elements < 0) throw new Unknown('there are more elements than a ledger has');
      const before = reader.at;
      values.push(type(reader));
      if (reader.at === before) throw new Invalid('an element of a list is empty');
    }
    return values;
  };

export const struct =
  <F extends Record<string, Type>>(fields: F): Type<{ [K in keyof F]: Read<F[K]> }> =>
  (reader) => {
    const value: Record<string, unknown> = {};
    for (const [name, type] of Object.entries(fields)) value[name] = type(reader);
    return value as { [K in keyof F]: Read<F[K]> };
  };

export interface Union {
  arm: number;
  value: unknown;
}

/** @param otherwise arms that are known to be void */
export const union =
  (arms: Readonly<Record<number, Type>>, otherwise?: (arm: number) => boolean): Type<Union> =>
  (reader) => {
    const arm = reader.i32();
    const type = arms[arm] ?? (otherwise?.(arm) ? nothing : undefined);
    if (!type) throw new Unknown(`there is a kind of entry that this program does not know (${arm})`);
    return { arm, value: type(reader) };
  };

/** For types that contain themselves. */
export const lazy =
  <T>(type: () => Type<T>): Type<T> =>
  (reader) =>
    reader.nested(type());

/** A value with the bytes that it was read from. */
export const sliced =
  <T>(type: Type<T>): Type<{ value: T; bytes: Bytes }> =>
  (reader) => {
    const start = reader.at;
    const value = type(reader);
    return { value, bytes: reader.bytes.subarray(start, reader.at) };
  };
