/** Reads the newest rollouts of a recorded run, and the algorithm that the run was started with. */
import type { Experience } from '@trinity-rft/core';
import type { ExperienceRows } from '@trinity-rft/core/store';
import type { Variant } from './variant.js';

const pageSize = 128;
const mostTokens = 2_000_000;

/**
 * Returns the experiences of the newest explore steps, oldest first: at most `steps` steps and
 * about two million tokens. A step that does not fit is omitted completely, but the newest step is
 * included as far as it was read.
 */
export function newestSteps(source: ExperienceRows, steps: number): readonly Experience[] {
  const pages: (readonly Experience[])[] = [];
  const batches = new Set<Experience['eid']['batch']>();
  let tokens = 0;
  let end = source.newestId();
  // A store that deletes trained rows no longer begins with the id 1.
  const oldest = source.rowsAfter(0, 1)[0]?.id ?? Infinity;
  while (end >= oldest && tokens < mostTokens && batches.size <= steps) {
    const begin = Math.max(0, end - pageSize);
    const rows = source.rowsAfter(begin, pageSize).filter(({ id }) => id <= end);
    pages.unshift(rows.map(({ experience }) => experience));
    for (const { experience } of rows) {
      batches.add(experience.eid.batch);
      tokens += experience.tokens.length;
    }
    end = begin;
  }
  const all = pages.flat();
  const inOrder = [...new Set(all.map(({ eid }) => eid.batch))];
  // The oldest step that was read may be incomplete.
  const whole = end >= oldest && inOrder.length > 1 ? inOrder.slice(1) : inOrder;
  const wanted = new Set(whole.slice(-steps));
  return all.filter(({ eid }) => wanted.has(eid.batch));
}

/** Settings of a stage, keyed by the path of the setting, as in `settings.json` of a run. */
type Settings = Readonly<Record<string, unknown>>;

/**
 * Returns the advantage function and the loss that a training run used, according to its settings.
 * Functions that the settings do not name are those of the algorithm (by default grpo).
 */
export function variantOf(settings: Settings): Variant {
  return {
    algorithm: textOf(settings['algorithm.algorithm_type']),
    advantageFn: partOf(settings, 'algorithm.advantage_fn'),
    policyLossFn: partOf(settings, 'algorithm.policy_loss_fn'),
    lossAggMode: textOf(settings['algorithm.loss_agg_mode']) as Variant['lossAggMode'],
  };
}

const textOf = (value: unknown): string | undefined =>
  typeof value === 'string' ? value : undefined;

function partOf(settings: Settings, key: string): Variant['advantageFn'] {
  const name = textOf(settings[key]);
  const args = Object.entries(settings)
    .filter(([each]) => each.startsWith(`${key}_args.`))
    .map(([each, value]) => [camelCase(each.slice(`${key}_args.`.length)), value]);
  return name === undefined ? undefined : { name, args: Object.fromEntries(args) };
}

const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z\d])/g, (_, letter: string) => letter.toUpperCase());

/** Parts of the algorithm to replace, by their names in YAML. Absent parts stay as recorded. */
export interface Change {
  /** Value of `algorithm_type`. This algorithm provides the parts that are not named. */
  readonly algorithm?: string | undefined;
  readonly advantageFn?: string | undefined;
  readonly policyLossFn?: string | undefined;
}

/**
 * Applies a change to a variant. If the change names an algorithm, all parts come from that
 * algorithm, except those that the change names itself.
 */
export function changed(
  before: Variant,
  { algorithm, advantageFn, policyLossFn }: Change,
): Variant {
  const base: Variant = algorithm === undefined ? before : { algorithm };
  return {
    ...base,
    advantageFn: advantageFn === undefined ? base.advantageFn : { name: advantageFn },
    policyLossFn: policyLossFn === undefined ? base.policyLossFn : { name: policyLossFn },
  };
}
