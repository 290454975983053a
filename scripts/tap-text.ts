/** What a TAP text says, for those who run tests. */

/** The failed assertions of a TAP text with their diagnostics, and the names of their tests
 *  and files. */
export function failures(tap: string): string[] {
  const shown: string[] = [];
  let diagnosticsEnd: string | null = null;
  for (const line of tap.split('\n')) {
    const failed = /^( *)not ok (?!.*# (?:TODO|SKIP))/.exec(line);
    if (failed || diagnosticsEnd !== null) shown.push(line);
    if (line === diagnosticsEnd) diagnosticsEnd = null;
    // A line with a time is a test with subtests, which hold the diagnostics.
    if (failed && !line.includes('# time=')) diagnosticsEnd = `${failed[1]}  ...`;
  }
  return shown;
}

/** Reads tap's last lines: `# { total: 7, pass: 2, fail: 3, skip: 1 }`, where zeros may
 *  be missing. */
export function totals(tap: string): { passed: number; failed: number } {
  const summary = [...tap.matchAll(/^# \{ total: .*\}$/gm)].at(-1)?.[0] ?? '';
  const number = (name: string) => Number(new RegExp(`\\b${name}: (\\d+)`).exec(summary)?.[1] ?? 0);
  return { passed: number('pass'), failed: number('fail') };
}

const MOST_SLOW = 20;

/** The slowest files of a run, the slowest first: where the time of `npm test` goes. */
export function slowestFiles(tap: string): string[] {
  const files = [...tap.matchAll(/^ *(?:not )?ok \d+ - (\S+\.test\.[jt]s) # time=([\d.]+)ms/gm)]
    // A process of many files has each of them as a test.
    .filter(([, file]) => file!.split('/').length > 3 || file!.endsWith('.ts'))
    .map(([, file, ms]) => ({
      file: file!.replace(/^\.test-build\//, '').replace(/js$/, 'ts'),
      seconds: Number(ms) / 1000,
    }))
    .sort((a, b) => b.seconds - a.seconds);
  if (files.length === 0) return [];
  const slow = files.slice(0, MOST_SLOW).map(({ file, seconds }) => `${seconds.toFixed(1).padStart(7)} s  ${file}`);
  const all = files.reduce((sum, { seconds }) => sum + seconds, 0);
  return ['', `The slowest of ${files.length} files, which took ${all.toFixed(0)} s in all:`, ...slow];
}

/** Of a run that was stopped: what had passed and failed by then, and the test that was running. */
export function untilStopped(tap: string): { passed: number; failed: number; running: string | null } {
  const count = (pattern: RegExp) => [...tap.matchAll(pattern)].length;
  const begun = [...tap.matchAll(/^# Subtest: (.*)$/gm)].at(-1);
  const isOver = begun && /^(?:not )?ok /m.test(tap.slice(begun.index));
  return {
    // A line with a time is a test with subtests, which were counted.
    passed: count(/^ *ok \d+ (?!.*# time=)/gm),
    failed: count(/^ *not ok \d+ (?!.*# (?:time=|TODO|SKIP))/gm),
    running: begun && !isOver ? begun[1]! : null,
  };
}
