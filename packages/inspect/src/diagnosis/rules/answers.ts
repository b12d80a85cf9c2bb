/** Rules for prompts and responses with defects. */
import { percent, stepsOf } from '../evidence/format.js';
import type { RolloutFacts, RunRecord } from '../evidence/record.js';
import type { Evidence, Rule } from '../evidence/rule.js';
import { firstShare, isSolved, recently, recentShare } from '../evidence/series.js';
import { shareRule } from './counts.js';

const [truncatedShare, emptyPromptShare, emptyAnswerShare] = [0.1, 0.05, 0.25];
const [tooLongShare, duplicateShare, identicalShare] = [0.05, 0.3, 0.8];
/**
 * Minimum numbers of model calls and tasks for a meaningful share, and the maximum number of examples.
 */
const [leastRollouts, leastTasks, mostExamples] = [16, 4, 10];

const truncatedMetrics = [
  ['rollout/model/response_truncated/mean'],
  ['rollout/model/choices/mean'],
] as const;

const truncated: Rule = {
  name: 'truncated-answers',
  title: 'Answers are cut off',
  when: `a token limit ended at least ${percent(truncatedShare)} of the answers of recent steps`,
  advice:
    'Raise max_response_tokens, or ask for shorter answers; where few were cut off at first, look for what has changed the model since. Answers that are meant to be long can be left out of training (mask_response_truncated) or made shorter step by step (overlong_penalty).',
  look: (run) => {
    const seen =
      recentShare(run, 'explorer', ...truncatedMetrics) ??
      recently(run, 'trainer', 'response_length/clip_ratio');
    if (!seen || seen.value < truncatedShare) return undefined;
    const first = firstShare(run, 'explorer', ...truncatedMetrics);
    const before = first === undefined ? '' : `, and ${percent(first)} of those of the first steps`;
    return {
      text: `${percent(seen.value)} of the answers of ${stepsOf(seen)} reached the limit${before}.`,
      numbers: [seen],
      rollouts: {
        sort: 'responseTokens',
        descending: true,
        ids: examples(run, ({ isTruncated }) => isTruncated),
      },
    };
  },
};

const examples = (run: RunRecord, isOne: (row: RolloutFacts) => boolean): readonly number[] =>
  run.rollouts
    .filter(isOne)
    .slice(0, mostExamples)
    .map(({ id }) => id);

/**
 * Returns the share of the newest model calls for which `isOne` holds. Returns undefined if the share
 * is below `least`, or if there are too few calls.
 */
function shareOf(
  { rollouts }: RunRecord,
  isOne: (row: RolloutFacts) => boolean,
  least: number,
): number | undefined {
  if (rollouts.length < leastRollouts) return undefined;
  const share = rollouts.filter(isOne).length / rollouts.length;
  return share < least ? undefined : share;
}

const partsOfRows = {
  prompt: { isEmpty: ({ hasPrompt }: RolloutFacts) => !hasPrompt, sort: 'promptTokens' },
  answer: { isEmpty: ({ hasAnswer }: RolloutFacts) => !hasAnswer, sort: 'responseTokens' },
} as const;

function emptyIn(
  run: RunRecord,
  part: keyof typeof partsOfRows,
  least: number,
): Evidence | undefined {
  const { isEmpty, sort } = partsOfRows[part];
  const share = shareOf(run, isEmpty, least);
  if (share === undefined) return undefined;
  return {
    text: `${percent(share)} of the newest ${run.rollouts.length} model calls have an empty ${part}.`,
    numbers: [],
    rollouts: { sort, ids: examples(run, isEmpty) },
  };
}

const emptyPrompts: Rule = {
  name: 'empty-prompts',
  title: 'Prompts contain no question',
  when: `at least ${percent(emptyPromptShare)} of the newest model calls have a prompt of nothing but the marks and role names of the chat template`,
  advice:
    'Look at format.prompt_key (the column of the question) and at the rows of the task set; "trinity debug FILE --module workflow" shows what the model reads.',
  explains: ['duplicated-tasks'],
  look: (run) => emptyIn(run, 'prompt', emptyPromptShare),
};

const emptyAnswers: Rule = {
  name: 'empty-answers',
  title: 'Answers are empty',
  when: `at least ${percent(emptyAnswerShare)} of the newest model calls have an answer of one or two tokens without a visible character`,
  advice:
    'The model ends at once. Look at the chat template and its generation prompt, at a stop text that comes first, and whether an empty answer is rewarded.',
  look: (run) => emptyIn(run, 'answer', emptyAnswerShare),
};

const tooLong = shareRule({
  name: 'prompt-too-long',
  title: 'Prompts do not fit',
  when: `at least ${percent(tooLongShare)} of the runs of recent steps ended because a prompt was too long`,
  advice:
    'Raise max_prompt_tokens (or max_model_len), leave out the longest tasks, or let the agent keep less of its history.',
  counted: ['rollout/runs/prompt_too_long'],
  outOf: ['rollout/runs/ok', 'rollout/runs/prompt_too_long'],
  atLeast: tooLongShare,
  says: (steps) => `of the runs of ${steps} had a prompt above the limit`,
  rollouts: { sort: 'promptTokens', descending: true },
});

const duplicated: Rule = {
  name: 'duplicated-tasks',
  title: 'The same task occurs several times in a step',
  when: `in the newest explore steps, at least ${percent(duplicateShare)} of the tasks have the prompt of another task of their step; tasks of several model calls are left out`,
  advice:
    'Remove duplicates from the task set (task pipeline, document_deduplicator), or take a smaller batch_size than it has rows. If all prompts are equal, look at format.prompt_key.',
  look: ({ rollouts }) => duplicatesIn(rollouts.filter(({ isServed }) => !isServed)),
};

const servedApart: Rule = {
  name: 'served-apart',
  title: 'Answers to the same question are not compared',
  when: `in the newest commits of trinity serve, at least ${percent(duplicateShare)} of the tasks have the prompt of another task of their commit; tasks of several model calls are left out`,
  advice:
    'Give answers to the same question the same task_id when you send their rewards, and commit when all of them are rewarded. Answers without a task_id are tasks of their own.',
  look: ({ rollouts }) => duplicatesIn(rollouts.filter(({ isServed }) => isServed)),
};

function duplicatesIn(rollouts: readonly RolloutFacts[]): Evidence | undefined {
  const later = new Set(rollouts.flatMap(({ group, step }) => (step > 0 ? [group] : [])));
  // Tasks of several turns may share their first prompt and differ only in the environment.
  const firstCalls = rollouts.filter(({ step, group }) => step === 0 && !later.has(group));
  const tasks = [...Map.groupBy(firstCalls, ({ group }) => group).values()].flatMap(
    ([first]) => first ?? [],
  );
  const copies = [...Map.groupBy(tasks, ({ batch }) => batch).values()].flatMap((step) =>
    [...Map.groupBy(step, ({ promptKey }) => promptKey).values()].filter((same) => same.length > 1),
  );
  const count = copies.reduce((sum, same) => sum + same.length, 0);
  const share = count / tasks.length;
  if (tasks.length < leastTasks || share < duplicateShare) return undefined;
  return {
    text: `${percent(share)} of ${tasks.length} tasks have the prompt of another task of the same step.`,
    numbers: [],
    rollouts: {
      sort: 'id',
      descending: true,
      ids: copies.slice(0, 3).flatMap((same) => same.slice(0, 4).map(({ id }) => id)),
    },
  };
}

const identical: Rule = {
  name: 'identical-answers',
  title: 'All attempts at a task begin with the same answer',
  when: `in at least ${percent(identicalShare)} of the groups of recent steps the first answers are equal, while the reward is not near its highest`,
  advice:
    'Set temperature: 1. If it is, look for a cache or memory between the runs of the agent, then use a smaller learning rate or an entropy_loss_fn.',
  explains: ['no-variance', 'entropy-collapse', 'no-gradient', 'dropped-groups'],
  look: (run) => {
    const seen = recently(run, 'explorer', 'rollout/identical_group_share');
    if (!seen || seen.value < identicalShare || isSolved(run)) return undefined;
    return {
      text: `In ${percent(seen.value)} of the groups of ${stepsOf(seen)}, all attempts began with the same answer.`,
      numbers: [seen],
      rollouts: { sort: 'id', descending: true },
    };
  },
};

export const answerRules: readonly Rule[] = [
  emptyPrompts,
  emptyAnswers,
  truncated,
  tooLong,
  duplicated,
  servedApart,
  identical,
];
