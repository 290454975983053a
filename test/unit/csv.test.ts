/** A cell of a CSV file is one cell and a text, whatever spreadsheet opens it. */
import t from 'tap';
import { csvLine } from '../../src/domain/csv.js';

t.test('a cell with a semicolon or a tab is one cell to spreadsheets that split there', async (t) => {
  t.equal(csvLine(['x;=cmd|1', 'a\tb', 'a;b', 'plain']), '"x;=cmd|1","a\tb","a;b",plain\r\n');
  t.equal(csvLine(['=1;2', '-5', '-5;']), `"'=1;2",-5,"'-5;"\r\n`);
});

t.test('quotes are doubled, lines are kept, and formulas are texts', async (t) => {
  t.equal(csvLine(['a"b', 'a\nb', 'a,b', null, true, 1.5]), '"a""b","a\nb","a,b",,true,1.5\r\n');
  t.equal(csvLine(['=1', ' +1', '＝1', '-1.5', '@a']), `'=1,' +1,'＝1,-1.5,'@a\r\n`);
});
