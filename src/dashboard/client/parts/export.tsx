/** Downloads of a list with all its pages, for spreadsheets and programs. */
import { BASE } from '../address.js';
import { useMay } from './act.js';

type Filters = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

const FORMATS = [
  ['csv', 'CSV'],
  ['jsonl', 'JSON lines'],
] as const;

/** @param filters of the list */
export function Export({ of, filters }: { of: 'payments' | 'checkouts'; filters: Filters }) {
  const may = useMay('reports.summary');
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters))
    for (const each of [value ?? []].flat()) query.append(name, String(each));
  if (!may) return null;
  return (
    <>
      {FORMATS.map(([format, label]) => (
        <a key={format} class="button plain" href={`${BASE}/api/${of}/export?format=${format}&${query}`} download>
          Export as {label}
        </a>
      ))}
    </>
  );
}
