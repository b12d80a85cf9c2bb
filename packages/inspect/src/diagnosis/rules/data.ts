/**
 * Rules for data that arrives too late or not at all, for changed settings, and for runs that ended
 * with an error.
 */
import { percent, short, stepsOf } from '../evidence/format.js';
import type { Rule } from '../evidence/rule.js';
import { filteredCount, recently, valuesOf, recent, zerosIn } from '../evidence/series.js';
import { shareRule } from './counts.js';

const [staleSteps, staleShare, droppedShare, partialShare] = [4, 0.2, 0.8, 0.5];

const staleData: Rule = {
  name: 'stale-data',
  title: 'Training data is old',
  when: `the recent mean of sample/staleness/mean is at least ${staleSteps} train steps`,
  advice:
    'Lower synchronizer.sync_interval (1 is on policy), bound it with sample_strategy: staleness_control or max_inflight_batches, or add explorers. The guide on sync styles shows what each costs.',
  look: (run) => {
    const seen = recently(run, 'trainer', 'sample/staleness/mean');
    if (!seen || seen.value < staleSteps) return undefined;
    return {
      text: `In ${stepsOf(seen)}, answers were ${short(seen.value)} train steps old on average.`,
      numbers: [seen],
      rollouts: { sort: 'staleness', descending: true },
    };
  },
};

const staleOfSample = shareRule({
  name: 'stale-dropped',
  title: 'Answers are thrown away as too old',
  when: `at least ${percent(staleShare)} of the experiences that recent train steps took were dropped as too old (sample/stale_dropped)`,
  advice:
    'Lower sync_interval or the number of batches in flight, so that less is sampled by old weights, or raise the bound of staleness_control.',
  role: 'trainer',
  counted: ['sample/stale_dropped'],
  outOf: ['sample/stale_dropped', 'sample/experience_count'],
  atLeast: staleShare,
  says: (steps) => `of the experiences that ${steps} took were too old`,
  rollouts: { sort: 'staleness', descending: true },
});

const staleDropped: Rule = {
  ...staleOfSample,
  look: (run) => {
    const found = staleOfSample.look(run);
    const start = found?.numbers[0]?.from ?? -Infinity;
    // Steps that an earlier version trained have no count of experiences.
    const counted = run
      .points('trainer', 'sample/experience_count')
      .find(({ value }) => Number.isFinite(value));
    return counted !== undefined && counted.step <= start ? found : undefined;
  },
};

const dropped = shareRule({
  name: 'dropped-groups',
  title: 'Operators drop nearly everything',
  when: `at least ${percent(droppedShare)} of the experiences of recent steps were dropped (experience_pipeline/filtered_count), while the reward is not near its highest`,
  advice:
    'Each operator writes its own filtered_count: is its threshold too high? Tasks that are always or never solved are dropped by dapo_dynamic_sampling and reward_std_filter: take other tasks.',
  explains: ['no-gradient'],
  counted: [filteredCount],
  outOf: [filteredCount, 'experience_pipeline/experience_count'],
  atLeast: droppedShare,
  says: (steps) => `of the experiences of ${steps} were dropped`,
  unlessSolved: true,
});

const partialGroups = shareRule({
  name: 'partial-groups',
  title: 'Groups are torn apart',
  when: `at least ${percent(partialShare)} of the tasks of recent train batches have fewer runs than repeat_times (sample/partial_group_count)`,
  advice:
    'Make train_batch_size a multiple of repeat_times; runs that fail or are dropped also leave holes.',
  role: 'trainer',
  counted: ['sample/partial_group_count'],
  outOf: ['sample/task_count'],
  atLeast: partialShare,
  says: (steps) => `of the tasks of ${steps} lack some of their runs`,
});

const runFailed: Rule = {
  name: 'run-failed',
  title: 'The run ended with an error',
  when: 'failure.txt is in the folder of the run or stage',
  advice:
    'The message says what to do; the same command continues from the last checkpoint. "trinity log RUN" shows what came before.',
  look: ({ failure }) => (failure === undefined ? undefined : { text: failure, numbers: [] }),
};

/** Matches settings that affect the prompt or the reward. */
const rewarded =
  /response_key|prompt_key|reward_fn|workflow_type|workflow_args|chat_template|system_prompt|reply_prefix/;

const settingsChanged: Rule = {
  name: 'settings-changed',
  title: 'Settings changed during the run',
  when: 'a setting that decides what is asked or rewarded changed when the run was resumed',
  advice:
    'Rewards before and after are not comparable. Change it back, or give the new settings a run of their own.',
  look: ({ changes = [] }) => {
    const found = changes.filter((change) => rewarded.test(change));
    return found.length === 0 ? undefined : { text: found.join(' '), numbers: [] };
  },
};

const starvedShare = 0.8;

const starved: Rule = {
  name: 'nothing-stored',
  title: 'Explore steps bring nothing to train on',
  when: `at least ${percent(starvedShare)} of the recent explore steps stored no experience (experience_pipeline/experience_count)`,
  advice:
    'Either all runs failed ("trinity log RUN --warnings") or operators dropped everything (experience_pipeline/*/filtered_count).',
  explains: ['dropped-groups'],
  look: (run) => {
    const name = 'experience_pipeline/experience_count';
    const seen = recently(run, 'explorer', name, zerosIn);
    if (!seen || seen.value < starvedShare) return undefined;
    const steps = valuesOf(recent(run.points('explorer', name))).length;
    return {
      text: `${percent(seen.value)} of the ${steps} recent explore steps stored nothing.`,
      numbers: [{ ...seen, statistic: 'share of steps with 0' }],
    };
  },
};

export const dataRules: readonly Rule[] = [
  runFailed,
  settingsChanged,
  starved,
  dropped,
  staleData,
  staleDropped,
  partialGroups,
];
