/** Timing, and the share of the machine that other processes used meanwhile. */
import { availableParallelism, cpus } from 'node:os';

export const threads = Math.min(8, availableParallelism());

export interface Timing {
  /** Median time in milliseconds. */
  readonly median: number;
  readonly best: number;
}

/** Runs `work` for `seconds`, at least `least` times, after one warm-up run. */
export async function time(
  work: () => Promise<unknown>,
  seconds: number,
  least = 5,
): Promise<Timing> {
  await work();
  const times: number[] = [];
  const end = performance.now() + seconds * 1000;
  while (times.length < least || performance.now() < end) {
    const start = performance.now();
    await work();
    times.push(performance.now() - start);
  }
  return summary(times);
}

export function summary(times: readonly number[]): Timing {
  const sorted = times.toSorted((a, b) => a - b);
  return { median: sorted[Math.floor(sorted.length / 2)]!, best: sorted[0]! };
}

/**
 * Share of the processors that other processes used while `work` ran. Figures with a large share are
 * unreliable.
 */
export async function withForeignShare<T extends object>(
  work: () => Promise<T>,
): Promise<T & { foreignCpuPercent: number }> {
  const [before, own] = [busyMs(), process.cpuUsage()];
  const start = performance.now();
  const result = await work();
  const { user, system } = process.cpuUsage(own);
  const foreign = busyMs() - before - (user + system) / 1000;
  return {
    ...result,
    foreignCpuPercent: round(
      (100 * Math.max(0, foreign)) / (cpus().length * (performance.now() - start)),
      0,
    ),
  };
}

function busyMs(): number {
  return cpus().reduce(
    (sum, { times }) => sum + times.user + times.sys + times.nice + times.irq,
    0,
  );
}

export function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}

export function peakMemoryGb(): number {
  return round(process.resourceUsage().maxRSS / 2 ** 20, 2);
}

/** Prints one result as a line of JSON and keeps it for the table. */
export function report(row: Readonly<Record<string, unknown>>): void {
  process.stdout.write(`${JSON.stringify(row)}\n`);
}
