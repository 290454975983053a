/** A cell of a CSV file is one cell and a text, whatever spreadsheet opens it. */
import t from 'tap';
import { csvLine, csvWriter } from '../../src/kit/csv.js';

t.test('a cell with a semicolon or a tab is one cell to spreadsheets that split there', async (t) => {
  t.equal(csvLine(['x;=cmd|1', 'a\tb', 'a;b', 'plain']), '"x;=cmd|1","a\tb","a;b",plain\r\n');
  t.equal(csvLine(['=1;2', '-5', '-5;']), `"'=1;2",-5,"'-5;"\r\n`);
});

t.test('a line has the separator that was asked for', async (t) => {
  t.equal(csvLine(['a,b', 'a;b', '1.5', null], ';'), '"a,b";"a;b";1.5;\r\n');
  const { header, line } = csvWriter({ separator: ';', bom: true });
  t.equal(header(['id', 'at']) + line(['ä', 1]), '\ufeffid;at\r\nä;1\r\n');
});

t.test('a time is written by the clocks of the zone, and means the same moment', async (t) => {
  for (const [zone, utc, local] of [
    ['UTC', '2026-11-21T09:30:00.000Z', '2026-11-21T09:30:00.000Z'],
    ['Europe/Berlin', '2026-10-25T00:30:00.000Z', '2026-10-25T02:30:00.000+02:00'],
    ['Europe/Berlin', '2026-10-25T01:30:00.500Z', '2026-10-25T02:30:00.500+01:00'],
    ['America/St_Johns', '2026-01-01T00:00:00.000Z', '2025-12-31T20:30:00.000-03:30'],
    // The clock goes back over midnight.
    ['America/Havana', '2027-11-07T05:30:00.000Z', '2027-11-07T00:30:00.000-05:00'],
    ['+05:45', '2026-01-01T00:00:00.000Z', '2026-01-01T05:45:00.000+05:45'],
  ] as const) {
    t.equal(csvWriter({ timeZone: zone }).time(utc), local);
    t.equal(Date.parse(local), Date.parse(utc));
  }
  t.throws(() => csvWriter({ timeZone: 'Europe/Atlantis' }), RangeError);
});

t.test('quotes are doubled, lines are kept, and formulas are texts', async (t) => {
  t.equal(csvLine(['a"b', 'a\nb', 'a,b', null, true, 1.5]), '"a""b","a\nb","a,b",,true,1.5\r\n');
  t.equal(csvLine(['=1', ' +1', '＝1', '-1.5', '@a']), `'=1,' +1,'＝1,-1.5,'@a\r\n`);
});
