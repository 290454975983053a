/** What a filled in form changes of the resource that it shows. */

/** An asset is one thing: a code with the issuer of another would be none. */
const ASSET = ['assetCode', 'assetIssuer'];

/** The fields that differ from those of the resource. */
export function changesIn<Fields extends object>(filled: Fields, resource: object): Partial<Fields> {
  const [after, before] = [filled, resource] as [Record<string, unknown>, Record<string, unknown>];
  const differs = (name: string) => asWritten(after[name]) !== asWritten(before[name]);
  const isChanged = (name: string) => (ASSET.includes(name) ? ASSET.some(differs) : differs(name));
  return Object.fromEntries(Object.entries(filled).filter(([name]) => isChanged(name))) as Partial<Fields>;
}

/** As a form gives it back: texts trimmed, with the line ends of browsers, and null for none. */
const asWritten = (value: unknown): string =>
  JSON.stringify(value ?? null, (_, part: unknown) => {
    if (typeof part === 'string') return part.replace(/\r\n?/g, '\n').trim() || null;
    if (typeof part !== 'object' || part === null || Array.isArray(part)) return part;
    return Object.fromEntries(Object.entries(part).sort(([one], [other]) => (one < other ? -1 : 1)));
  });
