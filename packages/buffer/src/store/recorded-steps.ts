import type { RecordedStep } from './row-driver.js';

interface UsedRow {
  readonly id: number;
  readonly trainStep: number;
  readonly dropped: boolean;
}

/**
 * Groups uses by train step, in ascending order of steps.
 * @param uses in the order in which they were recorded
 */
export function recordedSteps(uses: readonly UsedRow[]): readonly RecordedStep[] {
  const steps = Map.groupBy(uses, ({ trainStep }) => trainStep);
  const idsOf = (rows: readonly UsedRow[], dropped: boolean): readonly number[] =>
    rows.filter((row) => row.dropped === dropped).map(({ id }) => id);
  return [...steps]
    .sort(([a], [b]) => a - b)
    .map(([trainStep, rows]) => ({
      trainStep,
      used: idsOf(rows, false),
      dropped: idsOf(rows, true),
    }));
}
