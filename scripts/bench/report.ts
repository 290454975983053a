/** The report of a run: a table in Markdown and a picture of the ratios. */
import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';

export interface Row {
  name: string;
  values: Readonly<Record<string, number | string>>;
  /** The ratio that `aim` limits; null without an aim. */
  ratio: number | null;
}

export interface Section {
  name: string;
  title: string;
  aim: string;
  /** Bounds of the ratio. */
  bound: { least?: number; most?: number };
  rows: Row[];
  notes: string[];
}

const shown = (value: number | string) =>
  typeof value === 'string'
    ? value
    : value >= 100 || Number.isInteger(value)
      ? Math.round(value).toLocaleString('en')
      : value.toPrecision(3);

function tableOf({ title, aim, rows, notes }: Section): string {
  const columns = [...new Set(rows.flatMap(({ values }) => Object.keys(values)))];
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [
    `## ${title}`,
    '',
    `Aim: ${aim}.`,
    '',
    line(['', ...columns, 'ratio']),
    line(['---', ...columns.map(() => '---:'), '---:']),
    ...rows.map(({ name, values, ratio }) =>
      line([
        name,
        ...columns.map((column) => (column in values ? shown(values[column]!) : '')),
        ratio === null ? '' : ratio.toFixed(2),
      ]),
    ),
    '',
    ...notes.map((note) => `- ${note}`),
    '',
  ].join('\n');
}

const BAR = { left: 290, width: 420, height: 16, gap: 6 };
const escaped = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;');

/** Draws bars of the ratios; the line is the aim. */
function pictureOf(sections: readonly Section[]): string {
  const parts: string[] = [];
  let y = 10;
  for (const { title, bound, rows } of sections) {
    const bars = rows.filter((row) => row.ratio !== null);
    if (bars.length === 0) continue;
    const limit = bound.most ?? bound.least ?? 1;
    const scale =
      BAR.width / Math.max(limit * 1.3, Math.min(limit * 3, ...[Math.max(...bars.map((row) => row.ratio!))]));
    parts.push(`<text x="10" y="${y + 14}" class="title">${escaped(title)}</text>`);
    y += 26;
    const top = y;
    for (const { name, ratio } of bars) {
      const holds = bound.most === undefined ? ratio! >= (bound.least ?? 0) : ratio! <= bound.most;
      const width = Math.max(1, Math.min(BAR.width, ratio! * scale));
      parts.push(
        `<text x="${BAR.left - 8}" y="${y + 12}" text-anchor="end">${escaped(name)}</text>`,
        `<rect x="${BAR.left}" y="${y}" width="${width.toFixed(1)}" height="${BAR.height}" class="${holds ? 'holds' : 'fails'}"/>`,
        `<text x="${(BAR.left + width + 5).toFixed(1)}" y="${y + 12}">${ratio!.toFixed(2)}</text>`,
      );
      y += BAR.height + BAR.gap;
    }
    const x = (BAR.left + limit * scale).toFixed(1);
    parts.push(`<line x1="${x}" y1="${top - 3}" x2="${x}" y2="${y - BAR.gap + 3}"/>`);
    y += 16;
  }
  const style =
    'text{font:12px system-ui,sans-serif;fill:#222}.title{font-weight:600;font-size:13px}.holds{fill:#3b82a0}.fails{fill:#c2703d}line{stroke:#222;stroke-dasharray:4 3}';
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 780 ${y}" width="780" height="${y}"><style>${style}</style><rect width="780" height="${y}" fill="#fff"/>${parts.join('')}</svg>\n`;
}

/** Writes `NAME.md` and `NAME.svg`, and the numbers as `NAME.json`. @returns the path of
 *  the first */
export async function writeReport(folder: string, name: string, sections: readonly Section[]): Promise<string> {
  await mkdir(folder, { recursive: true });
  const head = [
    '# What a run of `npm run bench` measured',
    '',
    `Node ${process.version}, ${cpus().length} cores, ${new Date().toISOString().slice(0, 10)}. Both sides of a ratio ran by turns in one run on one machine, which others used as well: only the ratios say something.`,
    '',
    `![ratios](${name}.svg)`,
    '',
  ].join('\n');
  await writeFile(join(folder, `${name}.svg`), pictureOf(sections));
  await writeFile(join(folder, `${name}.json`), JSON.stringify(sections, null, 1));
  const path = join(folder, `${name}.md`);
  await writeFile(path, `${head}\n${sections.map(tableOf).join('\n')}`);
  return path;
}
