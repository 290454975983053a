/** Confines processes to a share of a core, so that two cores suffice for measurements that would
 *  need more. Linux, as root. */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = '/sys/fs/cgroup';
/** Short, so that processes are halted often instead of long. */
const PERIOD_US = 10_000;

export interface CpuShare {
  /** @param share of one core; null for no limit */
  limitTo(share: number | null): void;
  close(): void;
}

/** @param pids processes that share the limit; their end empties the group
 *  @throws when this process may not make a control group, or the kernel has none for CPU */
export function confine(name: string, pids: readonly number[]): CpuShare {
  const older = existsSync(join(ROOT, 'cpu', 'cpu.shares'));
  const folder = join(ROOT, older ? 'cpu' : '', `stellar-collect-bench-${process.pid}-${name}`);
  const write = (file: string, text: string | number) => writeFileSync(join(folder, file), String(text));
  if (!older) writeFileSync(join(ROOT, 'cgroup.subtree_control'), '+cpu');
  mkdirSync(folder);
  for (const pid of pids) write('cgroup.procs', pid);
  if (older) write('cpu.cfs_period_us', PERIOD_US);
  return {
    limitTo(share) {
      const quota = share === null ? null : Math.round(share * PERIOD_US);
      if (older) write('cpu.cfs_quota_us', quota ?? -1);
      else write('cpu.max', `${quota ?? 'max'} ${PERIOD_US}`);
    },
    close: () => rmdirSync(folder),
  };
}
