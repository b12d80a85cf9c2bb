/** Rewards that both sides reach, and the difference between them, as Markdown. */
import { mean } from '../../packages/core/src/index.ts';
import { sampleStd } from '../../packages/core/src/internal.ts';
import { studentQuantile, type Interval } from '../../packages/explorer/src/metrics/interval.ts';
import type { RowResult } from './row.ts';

/** Table of rewards; empty if no run reports a reward. */
export function rewardTable(results: readonly RowResult[]): string {
  const lines = results.flatMap(rewardLines);
  if (lines.length === 0) return '';
  const head = ['Row', 'Side', 'Seeds', 'Reward, last five steps', 'Range or 95 % interval'];
  return [head, head.map(() => '---'), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function rewardLines({ name, ours, runs }: RowResult): string[][] {
  const learned = runs.filter(({ parts }) => parts['reward'] !== undefined);
  const sides = Object.entries(Object.groupBy(learned, ({ side }) => side)).map(
    ([side, own = []]) => ({ side, rewards: own.map(({ parts }) => parts['reward'] ?? NaN) }),
  );
  const own = sides.find(({ side }) => side === ours)?.rewards;
  const lines = sides.map(({ side, rewards }) => {
    const range = { low: Math.min(...rewards), high: Math.max(...rewards) };
    return [name, side, `${rewards.length}`, shown(mean(rewards)), spanOf(range)];
  });
  if (!own) return lines;
  const peers = sides.filter(({ side }) => side !== ours);
  const differences = peers.map(({ side, rewards }) => {
    const interval = differenceInterval(own, rewards);
    const label = `**${ours} - ${side}**`;
    return [name, label, '', shown(mean(own) - mean(rewards)), interval ? spanOf(interval) : '-'];
  });
  return [...lines, ...differences];
}

/**
 * 95 % interval of the mean of `a` minus that of `b`, by Welch's t with its degrees of freedom rounded
 * down; undefined if a side has fewer than two numbers or neither side varies. The samples are not
 * paired, because the same seed gives the two sides different samples.
 */
export function differenceInterval(
  a: readonly number[],
  b: readonly number[],
): Interval | undefined {
  if (a.length < 2 || b.length < 2) return undefined;
  const [ofA, ofB] = [sampleStd(a) ** 2 / a.length, sampleStd(b) ** 2 / b.length];
  const variance = ofA + ofB;
  if (variance === 0) return undefined;
  const freedom = variance ** 2 / (ofA ** 2 / (a.length - 1) + ofB ** 2 / (b.length - 1));
  const half = studentQuantile(Math.max(1, Math.floor(freedom))) * Math.sqrt(variance);
  const difference = mean(a) - mean(b);
  return { low: difference - half, high: difference + half };
}

const spanOf = ({ low, high }: Interval): string => `${shown(low)} to ${shown(high)}`;
const shown = (value: number): string => value.toFixed(3);
