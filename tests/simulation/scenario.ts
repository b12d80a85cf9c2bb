/** Scenario of a seed: the settings of a run, and its faults with their times. */
import { createRandom, deriveSeed } from '../../packages/core/src/index.ts';
import type { Random } from '../../packages/core/src/random.ts';
import type { OverRollout } from '../../packages/explorer/src/internal.ts';
import { noNetworkFaults, type NetworkFaults } from './network.ts';

const styles = ['fixed', 'explorer_driven', 'trainer_driven', 'fully_async'] as const;
type Style = (typeof styles)[number];

const waitsForAll: OverRollout = { ratio: 0, waitAfterMinMs: 0, returnPartialTasks: false };

export interface Scenario {
  readonly seed: number;
  readonly style: Style;
  readonly explorers: number;
  readonly exploreSteps: number;
  readonly tasksPerStep: number;
  readonly repeatTimes: number;
  readonly syncInterval: number;
  readonly syncOffset: number;
  /** Maximum staleness: explore steps between the weights and the step that they explore. */
  readonly maxStaleness: number;
  readonly saveInterval: number;
  readonly overRollout: OverRollout;
  /** True if weights travel through the store instead of a shared folder. */
  readonly weightsInStore: boolean;
  /** Concurrency of an explorer: attempts in flight. */
  readonly concurrency: number;
  readonly longestCallMs: number;
  readonly faults: readonly Fault[];
  /** No fault begins after this time, in milliseconds. */
  readonly faultsEndAt: number;
  readonly network: NetworkFaults;
}

/** Fault at a time. `target` is the number of a process: 0 is the trainer, then the explorers. */
export type Fault = { readonly at: number; readonly target: number } & (
  | { readonly kind: 'kill'; readonly restartAfterMs: number }
  | { readonly kind: 'pause'; readonly forMs: number }
  /** Pause so long that another process replaces the paused one, which then continues. */
  | { readonly kind: 'replace'; readonly forMs: number }
  | { readonly kind: 'cut'; readonly forMs: number }
  | { readonly kind: 'store stops'; readonly forMs: number }
  | { readonly kind: 'clock jumps'; readonly byMs: number }
  | { readonly kind: 'disk full'; readonly forMs: number }
  | { readonly kind: 'second trainer' }
);

const faultKinds: readonly Fault['kind'][] = [
  'kill',
  'kill',
  'kill',
  'pause',
  'pause',
  'replace',
  'cut',
  'store stops',
  'clock jumps',
  'disk full',
  'second trainer',
];

export const leaseMs = 4000;

export function scenarioOf(seed: number): Scenario {
  const random = createRandom(deriveSeed(seed, 'scenario'));
  const between = (least: number, most: number): number => least + random.integer(most - least + 1);
  // Most errors also occur in small runs, which take half the time.
  const isSmall = random.next() < 0.75;
  const explorers = between(1, isSmall ? 2 : 3);
  const faultsEndAt = between(2, 12) * 1000;
  const style = styles[between(0, styles.length - 1)] ?? 'fixed';
  return {
    seed,
    style,
    explorers,
    exploreSteps: between(2, isSmall ? 3 : 5),
    tasksPerStep: between(1, isSmall ? 2 : 3),
    repeatTimes: 2,
    syncInterval: between(1, 2),
    syncOffset: between(0, 1),
    maxStaleness: between(0, 2),
    saveInterval: between(1, 3),
    overRollout: style === 'fixed' ? waitsForAll : overRolloutOf(random),
    weightsInStore: random.next() < 0.3,
    concurrency: between(1, 4),
    longestCallMs: between(1, 20) * 50,
    faultsEndAt,
    faults: faultsOf(random, { explorers, faultsEndAt }),
    network: networkOf(random),
  };
}

/** Draws the over-rollout settings. Which tasks are cut off depends on how long they take. */
function overRolloutOf(random: Random): OverRollout {
  if (random.next() < 0.6) return waitsForAll;
  return {
    ratio: 0.5,
    waitAfterMinMs: random.integer(500),
    returnPartialTasks: random.next() < 0.5,
  };
}

function faultsOf(
  random: Random,
  { explorers, faultsEndAt }: Pick<Scenario, 'explorers' | 'faultsEndAt'>,
): readonly Fault[] {
  const faults = Array.from({ length: random.integer(8) }, () => {
    const kind = faultKinds[random.integer(faultKinds.length)] ?? 'kill';
    const target = random.integer(explorers + 1);
    return { at: random.next() * faultsEndAt, target, ...faultOf(kind, random) };
  });
  return faults.toSorted((a, b) => a.at - b.at);
}

function faultOf(kind: Fault['kind'], random: Random) {
  const seconds = (most: number): number => random.next() * most * 1000;
  switch (kind) {
    case 'kill':
      return { kind, restartAfterMs: seconds(random.next() < 0.5 ? 1 : 8) };
    case 'clock jumps':
      return { kind, byMs: (random.next() - 0.5) * 7_200_000 };
    case 'second trainer':
      return { kind };
    case 'pause':
      return { kind, forMs: seconds(12) };
    case 'replace':
      return { kind, forMs: 2 * leaseMs + seconds(3) };
    case 'cut':
    case 'store stops':
    case 'disk full':
      return { kind, forMs: seconds(8) };
  }
}

function networkOf(random: Random): NetworkFaults {
  if (random.next() < 0.3) return noNetworkFaults;
  return {
    loseRequest: random.next() * 0.03,
    loseAnswer: random.next() * 0.03,
    repeatRequest: random.next() * 0.05,
    loseNotification: random.next() * 0.3,
    delay: random.next() * 0.1,
    longestDelayMs: 500,
  };
}
