/** Which metrics depend on the speed of the machine. */

/** True for seconds and rates: the metrics in which two runs of one seed differ. */
export function isTimingKey(key: string): boolean {
  return (
    key.startsWith('time/') ||
    key.startsWith('perf/') ||
    key.includes('/perf/') ||
    key.includes('/time/') ||
    key.includes('timing')
  );
}
