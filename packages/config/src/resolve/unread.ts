/**
 * Warns of keys that the mode, the storage or the algorithm of a stage does not read, or that are of
 * a part that is off.
 */
import { nodeAt, type KeyPath } from '../source/node.js';
import { nowhere } from '../source/problem.js';
import { presetOf } from './algorithm/algorithm.js';
import { sayIgnored, type StageContext } from './base/context.js';
import { experienceBuffer } from './base/paths.js';
import type { AlgorithmConfig, Mode } from './base/resolved.js';
import { replayKeys } from './buffer/replay.js';
import { enabledBy } from './external.js';

interface UnreadKeys {
  readonly section: KeyPath;
  readonly names: readonly string[];
  readonly reason: string;
}

/** Keys for evaluations, in the two sections that have them. */
const ofEvaluations = (reason: string): readonly UnreadKeys[] => [
  { section: ['buffer', 'explorer_input'], names: ['eval_tasksets'], reason },
  { section: ['explorer'], names: ['eval_interval'], reason },
];

/** Keys for rollouts of tasks to train on, in modes that have none. `others` are of the explorer. */
const ofRollouts = (reason: string, ...others: readonly string[]): readonly UnreadKeys[] => [
  { section: ['buffer', 'explorer_input'], names: ['tasksets'], reason },
  {
    section: ['explorer'],
    names: ['failure_reward', 'max_inflight_batches', 'over_rollout', ...others],
    reason,
  },
  { section: ['cluster'], names: ['explorers'], reason },
];

/** Keys that determine when explorer and trainer meet. */
const timing = [
  'sync_style',
  'explorer_sync_interval',
  'trainer_sync_interval',
  'sync_offset',
  'max_staleness',
];

const furtherTasks = {
  section: ['explorer', 'dynamic_sampling'],
  names: ['max_batches'],
  reason: 'no further tasks are drawn',
};

const trainsNothing = 'nothing is trained';
const evaluates = 'nothing is evaluated; trinity eval FILE evaluates the checkpoints';

/** Keys that have no effect, by mode, with the reason. */
const unread: Readonly<Partial<Record<Mode, readonly UnreadKeys[]>>> = {
  serve: [
    {
      section: ['synchronizer'],
      names: timing,
      reason: 'a server takes new weights every sync_interval train steps, and waits for none',
    },
    {
      section: ['buffer'],
      names: ['total_steps', 'total_epochs'],
      reason: 'clients decide how much is explored; trainer.total_steps limits the train steps',
    },
    furtherTasks,
    ...ofRollouts('clients explore', 'dynamic_timeout'),
    ...ofEvaluations(evaluates),
  ],
  train: [
    {
      section: experienceBuffer,
      names: ['keep_trained_steps'],
      reason: 'all stored experiences are kept, for further passes over them',
    },
    {
      section: ['synchronizer'],
      names: ['sync_interval', ...timing],
      reason: 'no explorer takes the weights',
    },
    furtherTasks,
    ...ofRollouts('nothing is explored', 'dynamic_timeout'),
    ...ofEvaluations(evaluates),
  ],
  bench: [
    { section: ['buffer'], names: ['total_steps', 'total_epochs'], reason: trainsNothing },
    { section: ['synchronizer'], names: ['sync_interval', ...timing], reason: trainsNothing },
    { section: ['trainer'], names: ['total_steps', 'save_interval'], reason: trainsNothing },
    furtherTasks,
    ...ofRollouts(trainsNothing),
  ],
};

/** Keys that are read only if another key of their section is set. */
interface SwitchedKeys extends Omit<UnreadKeys, 'reason'> {
  readonly by: string;
  /**
   * Returns true if the keys are read, or reported, although `by` is not set, or if `by` would have
   * no effect either.
   * @default false
   */
  readonly unless?: (context: StageContext) => boolean;
}

/** Returns true in modes that run no workflows. */
const runsNone = ({ mode }: StageContext): boolean => mode === 'train' || mode === 'serve';

const external = {
  names: ['model_name', 'base_url_env', 'api_key_env'],
  by: 'enable',
  unless: (context: StageContext) => runsNone(context) || enabledBy(context) !== undefined,
};
const correction = {
  section: ['algorithm', 'rollout_correction'],
  unless: ({ input }: StageContext) => input.algorithm.rollout_correction.bypass_mode,
};

const switched: readonly SwitchedKeys[] = [
  { ...external, section: ['model', 'external_model'] },
  { ...external, section: ['explorer', 'rollout_model', 'external_model_config'] },
  {
    section: [...experienceBuffer, 'replay_buffer'],
    names: replayKeys,
    by: 'enable',
    unless: (context) => presetOf(context).schema !== 'experience',
  },
  {
    section: ['explorer', 'dynamic_timeout'],
    names: ['warmup_min_steps', 'ratio'],
    by: 'enable',
    unless: runsNone,
  },
  {
    section: furtherTasks.section,
    names: furtherTasks.names,
    by: 'enable',
    unless: (context) => context.mode !== 'both' || presetOf(context).dynamicSampling === true,
  },
  {
    section: ['explorer', 'over_rollout'],
    names: ['wait_after_min', 'return_partial_tasks'],
    by: 'ratio',
    unless: ({ mode }) => mode !== 'both',
  },
  {
    ...correction,
    names: ['rollout_is_threshold', 'rollout_is_batch_normalize'],
    by: 'rollout_is',
  },
  { ...correction, names: ['rollout_rs_threshold'], by: 'rollout_rs' },
];

/** Warns of keys of a part that is off. Says nothing if the file itself switches the part off. */
function saySwitchedOff(context: StageContext): void {
  for (const { section, names, by, unless } of switched)
    if (nodeAt(context.tree, [...section, by]) === undefined && unless?.(context) !== true)
      sayIgnored(context, section, names, `It needs ${section.at(-1)}.${by}.`);
}

/** Keys that a mode reads only with some algorithms, or with some values of other keys. */
function unreadHere(
  { mode, input: { buffer } }: StageContext,
  { needsRollouts }: AlgorithmConfig,
): readonly UnreadKeys[] {
  const isReplay = buffer.trainer_input.experience_buffer.replay_buffer.enable;
  const capacity = { section: experienceBuffer, names: ['capacity'] };
  if (mode === 'serve')
    return isReplay ? [] : [{ ...capacity, reason: 'clients do not wait for the trainer' }];
  if (mode !== 'train') return [];
  const reason = 'nothing is explored';
  const repeatTimes = { section: ['algorithm'], names: ['repeat_times'], reason };
  const batchSize = { section: ['buffer'], names: ['batch_size'], reason };
  return [
    ...(needsRollouts ? [] : [repeatTimes]),
    ...(needsRollouts && !isReplay ? [{ ...capacity, reason }] : []),
    // The size of a train step is batch_size by default.
    ...(buffer.train_batch_size === 0 ? [] : [batchSize]),
  ];
}

/** Warns of keys for a critic or for experts if the algorithm has none. */
function sayUnreadParts(
  context: StageContext,
  { algorithmType, needs, sampleStrategy }: AlgorithmConfig,
): void {
  if (context.mode === 'bench') return;
  const trainer: KeyPath = ['trainer'];
  const hasNone = `${algorithmType} has no critic.`;
  if (!needs.valueHead) {
    if (context.input.trainer.critic_warmup !== 0)
      sayIgnored(context, trainer, ['critic_warmup'], hasNone);
    sayIgnored(context, [...trainer, 'trainer_config'], ['critic'], hasNone);
    sayIgnored(context, ['model'], ['critic_model_path'], hasNone);
  }
  if (sampleStrategy.name !== 'mix')
    sayIgnored(
      context,
      ['buffer', 'trainer_input'],
      ['auxiliary_buffers'],
      'Only the sample strategy mix takes experts from it.',
    );
}

/**
 * Warns of keys that are set and not read. If the command sets the mode, says nothing of keys that
 * another mode reads: `trinity serve` also serves files of other modes.
 */
export function sayUnread(context: StageContext, algorithm: AlgorithmConfig): void {
  const { mode, tree } = context;
  saySwitchedOff(context);
  if (nodeAt(tree, ['mode'])?.at.line === nowhere.line) return;
  for (const { section, names, reason } of [
    ...(unread[mode] ?? []),
    ...unreadHere(context, algorithm),
  ])
    sayIgnored(context, section, names, `In mode ${mode} ${reason}.`);
  sayUnreadParts(context, algorithm);
}
