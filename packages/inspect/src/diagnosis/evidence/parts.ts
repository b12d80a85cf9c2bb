/** Finds the scorers of a training run: the names of the parts of its reward, and their reasons. */
import type { RecordedRun } from './groups.js';

const near = (a: number, b: number): boolean => Math.abs(a - b) <= 1e-6 * Math.max(1, Math.abs(b));

/**
 * Returns the names of the parts of the reward. If all metrics add up to the reward in every
 * rollout, all of them are parts. Otherwise, each metric that equals the reward in every rollout is
 * a part; other metrics rarely equal the reward by chance, unless all rewards are 0, so that no
 * metric is a part then. Scorers that gave reasons are parts as well.
 */
export function partNames(runs: readonly RecordedRun[]): readonly string[] {
  const rewarded = runs.filter(({ last }) => last.reward !== undefined);
  const names = [...new Set(rewarded.flatMap(({ last }) => Object.keys(last.metrics)))];
  const addUp = (chosen: readonly string[]): boolean =>
    chosen.length > 0 &&
    rewarded.some(({ last }) => last.reward !== 0) &&
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

/**
 * Returns a sentence that quotes the reason that a part of the reward gave for this rollout, or an
 * empty string if it gave none.
 */
export function reasonFor(name: string, { last }: RecordedRun): string {
  const reason = last.reasons[name]?.replaceAll(/\s+/g, ' ').trim() ?? '';
  return reason === '' ? '' : ` ${name} says of one of them: "${reason.slice(0, mostReason)}".`;
}
