/** Downloads of a list with all its pages, for spreadsheets and programs. */
import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { BASE } from '../address.js';
import { timezone } from '../format.js';
import { t } from '../texts/texts.js';
import { Dialog, useMay } from './act.js';

type Filters = Readonly<Record<string, string | boolean | readonly string[] | undefined>>;

/** What a spreadsheet of the reader's country takes: where decimals have a comma, it separates
 *  cells by semicolons. */
const SEPARATOR = new Intl.NumberFormat().format(1.5).includes(',') ? ';' : ',';

/** @param filters of the list */
export function Export({ of, filters }: { of: 'payments' | 'checkouts'; filters: Filters }) {
  const may = useMay('reports.summary');
  const [isOpen, setOpen] = useState(false);
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(filters))
    for (const each of [value ?? []].flat()) query.append(name, String(each));
  if (!may) return null;
  return (
    <>
      <button type="button" class="plain" onClick={() => setOpen(true)}>
        {t('export')}
      </button>
      {isOpen && (
        <Download title={t(of === 'payments' ? 'exportPayments' : 'exportCheckouts')} onClose={() => setOpen(false)}>
          {(csv) => (
            <>
              <File href={`${BASE}/api/${of}/export?format=csv&${csv}&${query}`} label={t('exportCsv')} />
              <File href={`${BASE}/api/${of}/export?format=jsonl&${query}`} label={t('exportJsonLines')} />
            </>
          )}
        </Download>
      )}
    </>
  );
}

/** Saves what the browser has already. */
export function save(blob: Blob, name: string): void {
  const url = URL.createObjectURL(blob);
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 60_000);
}

export const File = ({ href, label }: { href: string; label: string }) => (
  <a class="button plain" href={href} download>
    {label}
  </a>
);

/** Asks how CSV is to be written. @param children links to the files, given the query that
 *  says it */
export function Download({
  title,
  onClose,
  children,
}: {
  title: string;
  onClose: () => void;
  children: (csv: URLSearchParams) => ComponentChildren;
}) {
  const [timeZone, setZone] = useState(timezone());
  const [separator, setSeparator] = useState<string>(SEPARATOR);
  const [bom, setBom] = useState(true);
  const zones = [...new Set([timezone(), 'UTC'])].map((zone) => [zone, zone] as const);
  const csv = new URLSearchParams({ timeZone, separator, ...(bom && { bom: 'true' }) });
  return (
    <Dialog title={title} onClose={onClose}>
      <Choose label={t('timesIn')} value={timeZone} options={zones} set={setZone} />
      <Choose
        label={t('betweenCellsCsv')}
        value={separator}
        options={[
          [',', t('comma')],
          [';', t('semicolon')],
        ]}
        set={setSeparator}
      />
      <label>
        <input type="checkbox" checked={bom} onChange={(event) => setBom(event.currentTarget.checked)} />{' '}
        {t('markUtf8')}
      </label>
      <div class="actions">
        <button type="button" class="plain" onClick={onClose}>
          {t('close')}
        </button>
        {children(csv)}
      </div>
    </Dialog>
  );
}

const Choose = ({
  label,
  value,
  options,
  set,
}: {
  label: string;
  value: string;
  options: readonly (readonly [value: string, label: string])[];
  set: (value: string) => void;
}) => (
  <label class="field">
    {label}
    <select value={value} onChange={(event) => set(event.currentTarget.value)}>
      {options.map(([option, text]) => (
        <option key={option} value={option}>
          {text}
        </option>
      ))}
    </select>
  </label>
);
