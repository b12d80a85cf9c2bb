/** Scorers of a run: the parts of its reward, by their names, and the reasons they gave. */
import type { RecordedRun } from './groups.js';

const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b));

/**
 * Parts that gave reasons, and metrics that are the reward alone or together. Metrics of a run that are no parts
 * seldom add up to its reward in every run.
 */
export function partNames(runs: readonly RecordedRun[]): readonly string[] {
  const rewarded = runs.filter(({ last }) => last.reward !== undefined);
  const names = [...new Set(rewarded.flatMap(({ last }) => Object.keys(last.metrics)))];
  const addUp = (chosen: readonly string[]): boolean =>
    chosen.length > 0 &&
    rewarded.every(({ last }) =>
      near(
        chosen.reduce((sum, name) => sum + (last.metrics[name] ?? 0), 0),
        last.reward ?? 0,
      ),
    );
  const parts = addUp(names) ? names : names.filter((name) => addUp([name]));
  return [...new Set([...parts, ...rewarded.flatMap(({ last }) => Object.keys(last.reasons))])];
}

const mostReason = 160;

/** A sentence with the reason that a part gave for this run; empty where it gave none. */
export function reasonFor(name: string, { last }: RecordedRun): string {
  const reason = last.reasons[name]?.replaceAll(/\s+/g, ' ').trim() ?? '';
  return reason === '' ? '' : ` ${name} says of one of them: "${reason.slice(0, mostReason)}".`;
}
