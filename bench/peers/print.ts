/** Prints the results as Markdown. */
import type { RowResult, Run } from './row.ts';

export function table(results: readonly RowResult[]): string {
  const head = ['Row', 'Side', 'Seconds', 'CPU s', 'Memory, GiB', 'Parts', 'Other load'];
  const lines = results.flatMap((result) => [...sideLines(result), ratioLine(result)]);
  return [head, head.map(() => '---'), ...lines]
    .map((cells) => `| ${cells.join(' | ')} |`)
    .join('\n');
}

function sideLines({ name, runs }: RowResult): string[][] {
  return Object.entries(Object.groupBy(runs, ({ side }) => side)).map(([side, own = []]) => [
    name,
    side,
    span(own, ({ seconds }) => seconds),
    span(own, ({ cpuSeconds }) => cpuSeconds),
    span(own, ({ memoryGib }) => memoryGib),
    partsOf(own),
    `${Math.max(...own.map(({ otherLoadPercent }) => otherLoadPercent))} %`,
  ]);
}

/** Ratio to the peer, by minimum and by median. */
function ratioLine({ name, job, ours: ourName, runs, missing }: RowResult): string[] {
  const [ours, theirs] = sidesOf(ourName, runs);
  const why =
    missing.length > 0 ? missing.map((each) => each.split('\n')[0]).join('; ') : 'no peer';
  if (ours.length === 0 || theirs.length === 0) return [name, job, why, '', '', '', ''];
  const ratio = (value: (run: Run) => number | undefined): string => {
    const [own, other] = [figures(ours, value), figures(theirs, value)];
    if (!own || !other) return '-';
    return `× ${short(other.least / own.least)} (${short(other.median / own.median)})`;
  };
  return [
    name,
    `**${job}**`,
    `**${ratio(({ seconds }) => seconds)}**`,
    ratio(({ cpuSeconds }) => cpuSeconds),
    ratio(({ memoryGib }) => memoryGib),
    '',
    '',
  ];
}

/** Runs of our side and of the fastest peer. */
function sidesOf(ourName: string, runs: readonly Run[]): readonly [readonly Run[], readonly Run[]] {
  const { [ourName]: ours = [], ...peers } = Object.groupBy(runs, ({ side }) => side);
  const least = (own: readonly Run[] = []): number =>
    Math.min(...own.map(({ seconds }) => seconds));
  const [fastest = []] = Object.values(peers).toSorted((a, b) => least(a) - least(b));
  return [ours, fastest];
}

function figures(
  runs: readonly Run[],
  value: (run: Run) => number | undefined,
): { readonly least: number; readonly median: number } | undefined {
  const values = runs.map(value).filter((each) => each !== undefined);
  const sorted = values.toSorted((a, b) => a - b);
  const [least, median] = [sorted[0], sorted[sorted.length >> 1]];
  return least === undefined || median === undefined ? undefined : { least, median };
}

/** Minimum and median of a value. */
function span(runs: readonly Run[], value: (run: Run) => number | undefined): string {
  const found = figures(runs, value);
  return found ? `${short(found.least)} (${short(found.median)})` : '-';
}

/** Medians of the parts. */
function partsOf(runs: readonly Run[]): string {
  const names = Object.keys(runs[0]?.parts ?? {});
  return names
    .map((name) => `${name} ${short(figures(runs, ({ parts }) => parts[name])?.median ?? NaN)}`)
    .join(', ');
}

const short = (value: number): string => Number(value.toPrecision(3)).toString();
