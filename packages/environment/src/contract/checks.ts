/** Checks that verify the claims of the environment contract. */
import { isDeepStrictEqual } from 'node:util';
import type { RawTask, SplitName } from '@trinity-rft/core';
import type { Action, EpisodeStart, Solver } from '../seam/types.js';
import { describeDifferences } from './differences.js';
import {
  begin,
  failureOf,
  inTime,
  openInTime,
  says,
  solverOf,
  transcriptOf,
  type Subject,
} from './transcript.js';

/**
 * Result of a check. At most one property is set, with an explanation. A check without `failed` and
 * `skipped` has passed.
 */
interface Finding {
  readonly failed?: string;
  readonly skipped?: string;
  readonly passed?: string;
}

type Check = (subject: Subject) => Promise<Finding>;

const startsOf = ({ rows }: Subject, count = rows.length): readonly EpisodeStart[] =>
  rows.slice(0, count).map((row, seed) => ({ row, seed }));

const equalEpisodes: Check = async (subject) => {
  for (const [at, start] of startsOf(subject, 3).entries()) {
    const policies = [() => solverOf(subject, start), () => says('', nonsense)];
    for (const policy of policies) {
      const play = () => transcriptOf(subject, start, policy());
      const [a, b] = await Promise.all([play(), play()]);
      if (!isDeepStrictEqual(a, b))
        return {
          failed: `two episodes of task ${at} with one seed differ: ${describeDifferences(a, b)}`,
        };
    }
  }
  return {};
};

/** Action that no environment is likely to understand. */
const nonsense = 'qzx 7 frobnicate';

const refusalsChangeNothing: Check = async (subject) => {
  let refusals = 0;
  for (const [at, start] of startsOf(subject, 3).entries()) {
    const episode = await begin(subject, start);
    try {
      const before = episode.stateKey();
      const result = await episode.step({ type: 'text', text: nonsense });
      if (result.refused !== true) continue;
      refusals++;
      if (result.done) return { failed: `task ${at} is over after an action that it refused` };
      if (episode.stateKey() !== before)
        return { failed: `the state of task ${at} is another after an action that it refused` };
      if (result.observation === '')
        return { failed: `task ${at} does not say why it refused an action` };
    } finally {
      await episode.close();
    }
  }
  return refusals === 0 ? { skipped: 'no action was refused' } : {};
};

const solverSucceeds: Check = async (subject) => {
  if (subject.definition.solver === undefined) return { skipped: 'it has no solver' };
  const rewards: number[] = [];
  for (const [at, start] of startsOf(subject).entries()) {
    const { reward, isDone, steps } = await transcriptOf(subject, start, solverOf(subject, start));
    if (!(reward > 0))
      return {
        failed: `the solver earns ${reward} in task ${at} after ${steps.length} steps${isDone ? '' : ', and the episode is not over'}`,
      };
    rewards.push(reward);
  }
  const mean = rewards.reduce((sum, each) => sum + each, 0) / rewards.length;
  return { passed: `${rewards.length} of ${rewards.length} tasks, mean reward ${mean.toFixed(3)}` };
};

const nonsenseEarnsLess: Check = async (subject) => {
  const hasSolver = subject.definition.solver !== undefined;
  for (const [at, start] of startsOf(subject, 5).entries()) {
    const best = hasSolver
      ? (await transcriptOf(subject, start, solverOf(subject, start))).reward
      : 1;
    for (const text of ['', nonsense]) {
      const { reward } = await transcriptOf(subject, start, says(text, text));
      if (!(reward < best))
        return {
          failed: `the answer ${JSON.stringify(text)} earns ${reward} in task ${at}, where the best is ${best}`,
        };
    }
  }
  return {};
};

/** Starts an episode by calling `reset` directly, without the error handling of the play loop. */
const resetRaw = (subject: Subject, { signal }: Pick<Subject, 'signal'> = subject) => {
  const { environment, rows, timeoutMs } = subject;
  return openInTime({ timeoutMs, signal }, (ended) =>
    environment.reset({ row: rows[0] ?? {}, seed: 0 }, ended),
  );
};

const stepsAfterTheEndFail: Check = async (subject) => {
  const { signal } = subject;
  const episode = await resetRaw(subject);
  const step = (action: Action) => inTime(subject, () => episode.step(action, signal));
  try {
    const policy = solverOf(subject, { row: subject.rows[0] ?? {}, seed: 0 });
    let seen = { observation: episode.observation, done: false };
    for (let turn = 0; turn < mostTurns && !seen.done; turn++) {
      const action = policy(seen.observation);
      if (action === undefined) break;
      seen = await step(action);
    }
    if (!seen.done) return { skipped: 'no episode came to its end' };
    const failure = await failureOf(() => step({ type: 'text', text: '' }));
    return failure === undefined ? { failed: 'a step after the end was answered' } : {};
  } finally {
    await inTime(subject, () => episode.close());
  }
};

const mostTurns = 1000;

const episodesCloseTwice: Check = async (subject) => {
  const episode = await resetRaw(subject);
  await inTime(subject, () => episode.close());
  await inTime(subject, () => episode.close());
  return {};
};

const stopsWhenTold: Check = async (subject) => {
  const signal = AbortSignal.abort(new Error('stopped'));
  const failure = await failureOf(async () => {
    const episode = await resetRaw(subject, { signal });
    await inTime(subject, () => episode.close());
  });
  return failure === undefined ? { failed: 'it begins an episode although it was stopped' } : {};
};

/**
 * Limits a policy to three steps. They suffice to reveal interference between concurrent episodes.
 */
function briefly(policy: Solver): Solver {
  let left = 3;
  return (observation) => (left-- > 0 ? policy(observation) : undefined);
}

const manyEpisodes: Check = async (subject) => {
  const [first = { row: {}, seed: 0 }] = startsOf(subject, 1);
  const play = () => transcriptOf(subject, first, briefly(solverOf(subject, first)));
  const alone = await play();
  const together = await Promise.all(Array.from({ length: subject.episodesAtOnce }, play));
  const other = together.find((each) => !isDeepStrictEqual(each, alone));
  return other === undefined
    ? { passed: `${subject.episodesAtOnce} episodes` }
    : {
        failed: `an episode beside others differs from one alone: ${describeDifferences(alone, other)}`,
      };
};

const splitsAreApart: Check = async ({ definition: { tasks }, args }) => {
  if (tasks === undefined) return { skipped: 'it generates no tasks' };
  const rows = (split: SplitName, seed: number): readonly string[] =>
    tasks({ split, count: split === 'train' ? 20 : 5, seed }, args).map(keyOf);
  if (!isDeepStrictEqual(rows('train', 1), rows('train', 1)))
    return { failed: 'the same range gives other rows the second time' };
  const evaluation = new Set([...rows('eval', 1), ...rows('eval', 2)]);
  const both = [...rows('train', 1), ...rows('train', 2)].find((row) => evaluation.has(row));
  return both === undefined ? {} : { failed: `a task is in both splits: ${both}` };
};

const keyOf = (row: RawTask): string => JSON.stringify(row);

/** Checks of the contract, keyed by the claim that each of them verifies. */
export const checks: Readonly<Record<string, Check>> = {
  'equal starts give equal episodes': equalEpisodes,
  'a refused action changes nothing, and says why': refusalsChangeNothing,
  'its solver earns a reward in every task': solverSucceeds,
  'empty and senseless answers earn less': nonsenseEarnsLess,
  'a step after the end is an error': stepsAfterTheEndFail,
  'an episode closes, and closes again': episodesCloseTwice,
  'it begins nothing once it is stopped': stopsWhenTold,
  'many episodes are open at once': manyEpisodes,
  'no task of one split is in the other': splitsAreApart,
};
