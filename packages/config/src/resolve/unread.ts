/** Warns of keys that the mode, the storage or the algorithm of a stage does not read. */
import { nodeAt, type KeyPath } from '../source/node.js';
import { nowhere } from '../source/problem.js';
import { sayIgnored, type StageContext } from './base/context.js';
import { experienceBuffer } from './base/paths.js';
import type { AlgorithmConfig, Mode } from './base/resolved.js';

interface UnreadKeys {
  readonly section: KeyPath;
  readonly names: readonly string[];
  readonly reason: string;
}

/** Keys that have no effect, by mode, with the reason. */
const unread: Readonly<Partial<Record<Mode, readonly UnreadKeys[]>>> = {
  serve: [
    {
      section: ['synchronizer'],
      names: [
        'sync_style',
        'explorer_sync_interval',
        'trainer_sync_interval',
        'sync_offset',
        'max_staleness',
      ],
      reason: 'a server takes new weights every sync_interval train steps, and waits for none',
    },
    {
      section: ['buffer'],
      names: ['total_steps', 'total_epochs'],
      reason: 'clients decide how much is explored; trainer.total_steps limits the train steps',
    },
  ],
  train: [
    {
      section: experienceBuffer,
      names: ['keep_trained_steps'],
      reason: 'all stored experiences are kept, for further passes over them',
    },
  ],
};

/** Key that a server reads only if the replay buffer is enabled. */
const unboundedStore: UnreadKeys = {
  section: experienceBuffer,
  names: ['capacity'],
  reason: 'clients do not wait for the trainer',
};

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
 * Warns of keys that are set and not read, unless the command sets the mode: `trinity serve` also
 * serves files of other modes.
 */
export function sayUnread(context: StageContext, algorithm: AlgorithmConfig): void {
  const { mode, tree, input } = context;
  if (nodeAt(tree, ['mode'])?.at.line === nowhere.line) return;
  const isUnbounded =
    mode === 'serve' && !input.buffer.trainer_input.experience_buffer.replay_buffer.enable;
  const all = [...(unread[mode] ?? []), ...(isUnbounded ? [unboundedStore] : [])];
  for (const { section, names, reason } of all)
    sayIgnored(context, section, names, `In mode ${mode} ${reason}.`);
  sayUnreadParts(context, algorithm);
}
