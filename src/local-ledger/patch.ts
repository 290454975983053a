/** XDR with arms that the SDK does not know: made with known stand-ins, which are replaced in the
 *  bytes and in the JSON. */

/** One piece of XDR in both forms. */
export interface Form {
  bytes: Uint8Array;
  json: unknown;
}

export interface Patch {
  /** Must not occur elsewhere in what is patched. */
  standIn: Form;
  real: Form;
}

/** The number of an arm that no protocol defines yet. */
export const FUTURE_ARM = Buffer.from([0, 0, 0, 99]);
/** The arm's name on servers of that protocol. */
export const OF_THE_FUTURE = 'of_the_future';

export const patchedBytes = (bytes: Uint8Array, patches: readonly Patch[]): Buffer =>
  patches.reduce((done, { standIn, real }) => {
    const pieces: Uint8Array[] = [];
    let start = 0;
    for (let at = done.indexOf(standIn.bytes); at >= 0; at = done.indexOf(standIn.bytes, start)) {
      pieces.push(done.subarray(start, at), real.bytes);
      start = at + standIn.bytes.length;
    }
    return Buffer.concat([...pieces, done.subarray(start)]);
  }, Buffer.from(bytes));

export function patchedJson(json: unknown, patches: readonly Patch[]): unknown {
  if (patches.length === 0) return json;
  const byText = new Map(patches.map(({ standIn, real }) => [JSON.stringify(standIn.json), real.json]));
  return JSON.parse(JSON.stringify(json), (_key, value) => byText.get(JSON.stringify(value)) ?? value);
}
