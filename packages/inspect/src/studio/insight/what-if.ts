/** Applies other rewards, advantages and losses to the newest recorded rollouts. */
import { withReader } from '@trinity-rft/buffer';
import { ConfigError, type Experience } from '@trinity-rft/core';
import {
  changed,
  newestSteps,
  usableParts,
  variantOf,
  whatIf,
  type RecordedReward,
  type WhatIf,
} from '../../what-if/index.js';
import { stageOrLatest } from '../../verify/stages.js';
import type { insightRoutes } from '../interface/insight.js';
import type { QueryOf } from '../interface/route.js';
import type { WhatIfAnswer, WhatIfChoices } from '../interface/types.js';
import type { Run } from '../runs/run.js';

const [defaultSteps, mostSteps, mostGroups] = [3, 20, 20];

export type WhatIfQuery = QueryOf<(typeof insightRoutes)['/api/runs/{run}/what-if']>;

/**
 * Compares the recorded settings with those that the query changes, on the newest rollouts. Returns
 * undefined if no experiences are recorded.
 * @throws ConfigError for unknown names, and for parts that need a model
 */
export async function whatIfOf(
  { place }: Run,
  query: WhatIfQuery,
): Promise<WhatIfAnswer | undefined> {
  const steps = clamped(query.steps ?? defaultSteps, [1, mostSteps]);
  const experiences = newestOf(place.database, Math.trunc(steps));
  if (experiences.length === 0) return undefined;
  const before = variantOf(await stageOrLatest(place.folder));
  const { algorithm, advantage, loss } = query;
  const after = changed(before, { algorithm, advantageFn: advantage, policyLossFn: loss });
  const found = await whatIf(experiences, {
    before,
    after: { ...after, reward: rewardOf(query, experiences) },
    drift: clamped(query.drift ?? 0, [0, 100]),
  });
  const exploreSteps = new Set(experiences.map(({ eid }) => eid.batch)).size;
  return { exploreSteps, ...toAnswer(found) };
}

export function choicesOf({ place }: Run): WhatIfChoices {
  const newest = newestOf(place.database, 1);
  const { algorithms, advantageFns, policyLossFns } = usableParts();
  return {
    algorithms: [...algorithms],
    advantages: [...advantageFns],
    losses: [...policyLossFns],
    numbers: numbersIn(newest),
  };
}

const numbersIn = (experiences: readonly Experience[]): string[] =>
  [...new Set(experiences.flatMap(({ metrics }) => Object.keys(metrics)))].toSorted();

const newestOf = (database: string | undefined, steps: number): readonly Experience[] =>
  database === undefined ? [] : withReader(database, (reader) => newestSteps(reader, steps));

/**
 * Returns the reward function that the query describes, or undefined if the recorded rewards are
 * used.
 * @throws ConfigError if the query names a value that no experience has
 */
function rewardOf(
  { number, contains, lengthCost = 0 }: WhatIfQuery,
  experiences: readonly Experience[],
): RecordedReward | undefined {
  const cost = clamped(lengthCost, [-1000, 1000]);
  const known = numbersIn(experiences);
  if (number !== undefined && !known.includes(number))
    throw new ConfigError(
      `The parameter number is "${number}"; these rollouts have ${known.length === 0 ? 'no numbers' : known.join(', ')}.`,
      { code: 'ARGUMENT_INVALID' },
    );
  if (number === undefined && contains === undefined && cost === 0) return undefined;
  const wanted = contains?.toLowerCase();
  const base: RecordedReward = ({ experience, response }) => {
    if (wanted !== undefined) return Number(response.toLowerCase().includes(wanted));
    return number === undefined ? (experience.reward ?? 0) : (experience.metrics[number] ?? 0);
  };
  return (answer) => Number(base(answer)) - cost * (answer.responseTokens ?? 0);
}

const clamped = (value: number, [least, most]: readonly [number, number]): number =>
  Math.min(most, Math.max(least, value));

function toAnswer({ groups, before, after, ...rest }: WhatIf): Omit<WhatIfAnswer, 'exploreSteps'> {
  const reordered = groups.toSorted((a, b) => (a.agreement ?? 2) - (b.agreement ?? 2));
  return {
    ...rest,
    before,
    after,
    groupCount: groups.length,
    groups: reordered.slice(0, mostGroups).map(({ batch, task, agreement, runs }) => ({
      batch: String(batch),
      task: String(task),
      agreement,
      runs: [...runs],
    })),
  };
}
