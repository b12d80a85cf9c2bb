import type { ComparedGroup, VariantSummary } from '../what-if/index.js';
import type { StoreWhatIf } from './what-if-run.js';

interface RenderWhatIfOptions {
  /**
   * Number of groups to show; those whose ranking changed most come first.
   * @default 3
   */
  readonly groups?: number;
}

/** Renders a comparison of two variants for a terminal. */
export function renderWhatIf(
  stores: readonly StoreWhatIf[],
  { groups = 3 }: RenderWhatIfOptions = {},
): string {
  return stores.map((store) => renderStore(store, groups)).join('\n');
}

function renderStore(store: StoreWhatIf, shown: number): string {
  const { before, after, groups, agreement, gradientCosine, signChanges } = store;
  const row = (name: string, read: (side: VariantSummary) => string): string =>
    `  ${name.padEnd(24)} ${read(before).padStart(12)} ${read(after).padStart(12)}`;
  const reordered = groups.toSorted((a, b) => (a.agreement ?? 2) - (b.agreement ?? 2));
  return [
    store.database,
    `${store.exploreSteps} explore steps, ${groups.length} groups`,
    '',
    `  ${''.padEnd(24)} ${'recorded'.padStart(12)} ${'changed'.padStart(12)}`,
    row('mean reward', ({ meanReward }) => short(meanReward)),
    row('groups with a signal', ({ groupsWithSignal }) => String(groupsWithSignal)),
    row('runs with a signal', ({ runsWithSignal }) => String(runsWithSignal)),
    row('mean |advantage|', ({ meanAbsAdvantage }) => short(meanAbsAdvantage)),
    row('gradient norm', ({ gradientNorm }) => short(gradientNorm)),
    '',
    `  order of the runs within groups: agreement ${short(agreement)} (1: the same, -1: reversed)`,
    `  runs pushed the other way:       ${(signChanges * 100).toFixed(1)} %`,
    `  direction of the gradient:       cosine ${short(gradientCosine)}`,
    '',
    ...reordered.slice(0, shown).flatMap(renderGroup),
  ].join('\n');
}

function renderGroup({ batch, task, runs, agreement }: ComparedGroup): readonly string[] {
  const lines = runs.map(
    ({ run, before, after }) =>
      `    run ${String(run).padStart(3)}   reward ${short(before.reward).padStart(8)} -> ${short(after.reward).padStart(8)}   advantage ${short(before.advantage).padStart(8)} -> ${short(after.advantage).padStart(8)}   rank ${before.rank} -> ${after.rank}`,
  );
  return [`  explore step ${batch}, task ${task}: agreement ${short(agreement)}`, ...lines, ''];
}

const short = (value: number | undefined): string =>
  value === undefined ? '-' : String(Number(value.toPrecision(4)));
