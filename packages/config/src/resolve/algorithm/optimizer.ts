/** Resolves the settings of the optimizers of the policy and of a critic. */
import { optimizer as optimizerSection } from '../../schema/algorithm.js';
import { inherit, resolveSection } from '../../schema/resolve-section.js';
import { critic as criticSection, criticOptimizer } from '../../schema/trainer.js';
import type { CriticConfig, OptimizerConfig, TrainBatchConfig } from '../base/resolved.js';
import type { KeyPath } from '../../source/node.js';
import { sayIgnored, type StageContext } from '../base/context.js';

export function deriveOptimizer(context: StageContext): OptimizerConfig {
  const { optimizer } = context.input.algorithm;
  const at = (key: string): KeyPath => ['algorithm', 'optimizer', key];
  const { lr_warmup_steps: ofCritic } = context.input.trainer.trainer_config.critic.optim;
  if (optimizer.lr_warmup_steps >= 0 && (ofCritic ?? 0) >= 0)
    sayIgnored(
      context,
      ['algorithm', 'optimizer'],
      ['lr_warmup_steps_ratio'],
      `lr_warmup_steps, ${optimizer.lr_warmup_steps}, decides. Remove one of the two.`,
    );
  return {
    ...resolveSection(optimizerSection, optimizer),
    clipGradNorm: oneBound(
      context,
      [at('clip_grad'), optimizer.clip_grad],
      [['trainer', 'grad_clip'], context.input.trainer.grad_clip],
    ),
  };
}

const policyKeys: KeyPath = ['algorithm', 'optimizer'];
const criticKeys: KeyPath = ['trainer', 'trainer_config', 'critic'];

/**
 * Reports learning rates that follow from the number of train steps, where that number depends on
 * the calls of the model or on time.
 * @param critic optimizer of the critic; undefined if the algorithm has no critic
 */
export function checkSchedules(
  context: StageContext,
  { perExploreStep }: TrainBatchConfig,
  policy: OptimizerConfig,
  critic: OptimizerConfig | undefined,
): void {
  const { mode, input } = context;
  if (mode !== 'both' || input.trainer.total_steps !== null) return;
  const { replay_buffer: replay } = input.buffer.trainer_input.experience_buffer;
  if (!replay.enable && perExploreStep !== undefined) return;
  const cause = replay.enable
    ? 'what replay_buffer repeats'
    : 'the calls of the model (train_batch_unit: experiences)';
  const check = (keys: KeyPath, optimizer: OptimizerConfig): boolean => {
    const { lrSchedulerType, lrWarmupSteps, lrWarmupStepsRatio } = optimizer;
    const isCosine = lrSchedulerType === 'cosine';
    if (!isCosine && (lrWarmupSteps !== undefined || lrWarmupStepsRatio === 0)) return false;
    context.report(
      [...keys, isCosine ? 'lr_scheduler_type' : 'lr_warmup_steps_ratio'],
      `needs the number of train steps, which depends on ${cause}. Set trainer.total_steps${isCosine ? '' : ', or lr_warmup_steps'}.`,
      [['trainer'], ['buffer', 'trainer_input']],
    );
    return true;
  };
  // The critic may have the schedule from the policy, so one report is enough.
  if (!check(policyKeys, policy) && critic) check([...criticKeys, 'optim'], critic);
}

/**
 * Resolves the critic's settings. Its optimizer inherits settings that the file does not set from
 * the policy's optimizer.
 */
export function deriveCritic(
  context: StageContext,
  { engine, policy }: { readonly engine: string; readonly policy: OptimizerConfig },
): CriticConfig {
  const { critic } = context.input.trainer.trainer_config;
  const { optim } = critic;
  const at = (key: string): KeyPath => [...criticKeys, 'optim', key];
  // Steps take precedence over a ratio, so the policy's steps would hide the critic's own ratio.
  const inherited = optim.lr_warmup_steps_ratio === null ? policy.lrWarmupSteps : undefined;
  const steps = optim.lr_warmup_steps ?? inherited ?? -1;
  const bound = oneBound(
    context,
    [at('clip_grad'), optim.clip_grad],
    [[...criticKeys, 'grad_clip'], critic.grad_clip],
  );
  return {
    ...resolveSection(criticSection, critic),
    engine,
    optimizer: {
      ...inherit(resolveSection(criticOptimizer, optim), policy),
      lrWarmupSteps: steps < 0 ? undefined : steps,
      clipGradNorm: bound ?? policy.clipGradNorm,
    },
    warmupSteps: context.input.trainer.critic_warmup,
  };
}

type Keyed<T> = readonly [path: KeyPath, value: T];

/**
 * Returns the maximum gradient norm, which two keys can set. The first key applies if the file sets
 * it, otherwise the second key. Reports a contradiction.
 */
function oneBound<T extends number | null>(
  context: StageContext,
  [first, own]: Keyed<T>,
  [second, other]: Keyed<T>,
): T {
  if (!context.isSet(...first)) return other;
  if (context.isSet(...second) && own !== other) {
    context.report(
      second,
      `got ${other}, but ${first.join('.')} is ${own}, and both limit the gradient norm. Keep one of the two.`,
      [first],
    );
  }
  return own;
}
