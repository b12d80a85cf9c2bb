/** Scorers of a run: names of the parts of its reward, and the reasons that they gave. */
import type { RecordedRun } from './groups.js';

const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b));

/**
 * Names of the parts of the reward: scorers that gave reasons, and all metrics if their sum equals
 * the reward in every run, otherwise each metric that equals it alone. Other metrics rarely equal
 * the reward by chance.
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

/** Maximum length of a quoted reason, in characters. */
const mostReason = 160;

/** Sentence that quotes the reason of a part for this run; empty if it gave none. */
export function reasonFor(name: string, { last }: RecordedRun): string {
  const reason = last.reasons[name]?.replaceAll(/\s+/g, ' ').trim() ?? '';
  return reason === '' ? '' : ` ${name} says of one of them: "${reason.slice(0, mostReason)}".`;
}
