/** The algorithm: its recipe, completed and checked. */
import type { z } from 'zod';
import {
  advantageArgs,
  algorithmRecipes,
  builtAlgorithms,
  entropyArgs,
  klArgs,
  noArgs,
  policyLossArgs,
  type AdvantageInput,
  type AlgorithmRecipe,
  type PolicyLossInput,
} from '../algorithm-defaults.js';
import type { LossAggMode } from '@trinity-rft/algorithm';
import type { AdvantageArgs, EntropyLossName, KlLossName, PolicyLossArgs } from '../resolved-algorithm.js';
import type { AlgorithmConfig, OptimizerConfig, PartConfig } from '../resolved.js';
import { checkStructure } from '../check/structure.js';
import { nodeAt, toPlain, type KeyPath } from '../tree/node.js';
import type { StageContext } from './context.js';

/** The recipe of the stage's algorithm. */
export function recipeOf(context: StageContext): AlgorithmRecipe {
  return algorithmRecipes[context.input.algorithm.algorithm_type];
}

export function deriveAlgorithm(context: StageContext): AlgorithmConfig {
  const { algorithm } = context.input;
  checkAlgorithmType(context);
  const recipe = recipeOf(context);
  const advantageFn = deriveAdvantage(context, recipe);
  const policy = derivePolicyLoss(context, recipe);
  const klName: KlLossName = algorithm.kl_loss_fn ?? recipe.klLossFn;
  const kl = argsOf(context, 'kl_loss_fn', klName === 'none' ? undefined : klArgs);
  const entropyName = (algorithm.entropy_loss_fn ?? recipe.entropyLossFn) as EntropyLossName;
  const entropy = argsOf(context, 'entropy_loss_fn', entropyName === 'none' ? undefined : entropyArgs);
  argsOf(context, 'sample_strategy', noArgs);
  return {
    algorithmType: algorithm.algorithm_type,
    schema: recipe.schema === 'text' ? 'sft' : recipe.schema,
    repeatTimes: deriveRepeatTimes(context, recipe),
    needsRollouts: recipe.schema === 'experience',
    optimizer: deriveOptimizer(context),
    sampleStrategy: { name: 'default', args: {} },
    advantageFn,
    policyLossFn: policy.choice,
    klPenaltyFn: { name: 'none', args: {} },
    klLossFn: { name: klName, args: { klCoef: kl?.kl_coef ?? 0 } },
    entropyLossFn: { name: entropyName, args: { entropyCoef: entropy?.entropy_coef ?? 0 } },
    lossAggMode: policy.lossAggMode,
  };
}

function checkAlgorithmType(context: StageContext): void {
  if (context.isSet('algorithm', 'algorithm_type')) return;
  const path: KeyPath = ['algorithm', 'algorithm_type'];
  context.report(path, `is not set, and means "ppo" then, which is not built yet. Set one of ${builtAlgorithms.join(', ')}.`);
}

function deriveRepeatTimes(context: StageContext, recipe: AlgorithmRecipe): number {
  const given = context.input.algorithm.repeat_times;
  if (recipe.schema !== 'experience') return 1;
  const group = recipe.advantageFn !== undefined && recipe.repeatTimes > 1;
  if (given === 1 && group && context.input.mode !== 'bench') {
    const message = `got 1, but ${context.input.algorithm.algorithm_type} compares the runs of one task with each other, so it learns nothing from a single run. Use at least 2; ${recipe.repeatTimes} if the key is left out.`;
    context.report(['algorithm', 'repeat_times'], message, [['algorithm', 'algorithm_type']]);
  }
  return given ?? recipe.repeatTimes;
}

function deriveAdvantage(context: StageContext, recipe: AlgorithmRecipe): AlgorithmConfig['advantageFn'] {
  const { algorithm } = context.input;
  if (recipe.advantageFn === undefined) {
    if (context.isSet('algorithm', 'advantage_fn'))
      context.warn(['algorithm', 'advantage_fn'], `ignored. ${algorithm.algorithm_type} has no rewards.`);
    return undefined;
  }
  const name = algorithm.advantage_fn ?? recipe.advantageFn;
  if (name === 'step_wise_grpo') return { name, args: stepWiseArgs(argsOf(context, 'advantage_fn', advantageArgs.step_wise_grpo)) };
  // Any other name is refused by the status table.
  const args = argsOf(context, 'advantage_fn', name === 'grpo' ? advantageArgs.grpo : undefined) ?? advantageArgs.grpo.parse({});
  if (args.duplicate_experiences && args.std_threshold === null) {
    context.report(
      ['algorithm', 'advantage_fn_args', 'duplicate_experiences'],
      'got true, but std_threshold is not set, so no group is ever dropped and replaced. Set std_threshold, for example to 0.',
    );
  }
  return { name: 'grpo', args: grpoArgs(args) };
}

function grpoArgs(args: AdvantageInput['grpo']): AdvantageArgs['grpo'] & PartConfig['args'] {
  return {
    epsilon: args.epsilon,
    stdThreshold: args.std_threshold,
    duplicateExperiences: args.duplicate_experiences,
    rankPenalty: args.rank_penalty,
    stdCalLevel: args.std_cal_level,
  };
}

function stepWiseArgs(given: AdvantageInput['step_wise_grpo'] | undefined): AdvantageArgs['step_wise_grpo'] {
  const args = given ?? advantageArgs.step_wise_grpo.parse({});
  return {
    epsilon: args.epsilon,
    enableStepNorm: args.enable_step_norm,
    stdCalLevel: args.std_cal_level,
    stdThreshold: args.std_threshold,
  };
}

function derivePolicyLoss(
  context: StageContext,
  recipe: AlgorithmRecipe,
): { readonly choice: AlgorithmConfig['policyLossFn']; readonly lossAggMode: LossAggMode } {
  const { algorithm } = context.input;
  const name = algorithm.policy_loss_fn ?? recipe.policyLossFn;
  if (name === 'ppo' && recipe.advantageFn === undefined) {
    context.report(
      ['algorithm', 'policy_loss_fn'],
      `got "ppo", which needs advantages, and ${algorithm.algorithm_type} has none. Use sft, or another algorithm_type.`,
      [['algorithm', 'algorithm_type']],
    );
  }
  if (name === 'sft') {
    const args = argsOf(context, 'policy_loss_fn', policyLossArgs.sft);
    return { choice: { name, args: {} }, lossAggMode: deriveAggregation(context, args?.loss_agg_mode ?? null) };
  }
  const args = argsOf(context, 'policy_loss_fn', name === 'ppo' ? policyLossArgs.ppo : undefined) ?? policyLossArgs.ppo.parse({});
  return { choice: { name: 'ppo', args: ppoArgs(args) }, lossAggMode: deriveAggregation(context, args.loss_agg_mode) };
}

function ppoArgs(args: PolicyLossInput['ppo']): PolicyLossArgs['ppo'] {
  return {
    clipRangeLow: args.clip_range_low ?? args.clip_range,
    clipRangeHigh: args.clip_range_high ?? args.clip_range,
    clipRatioC: args.clip_ratio_c,
    enableSequenceMasking: args.enable_sequence_masking,
    deltaSequenceMasking: args.delta_sequence_masking,
    fallbackToPolicyGradient: args.fallback_to_policy_gradient,
  };
}

/** `algorithm.loss_agg_mode`, else the one among the arguments of the loss, else token-mean; both and different is refused. */
function deriveAggregation(context: StageContext, fromArgs: LossAggMode | null): LossAggMode {
  const own = context.input.algorithm.loss_agg_mode;
  if (own !== null && fromArgs !== null && own !== fromArgs) {
    const message = `got "${fromArgs}", but algorithm.loss_agg_mode says "${own}". Keep one of the two.`;
    context.report(['algorithm', 'policy_loss_fn_args', 'loss_agg_mode'], message, [['algorithm', 'loss_agg_mode']]);
  }
  return own ?? fromArgs ?? 'token-mean';
}

/** The arguments of a part, completed; problems are reported at the argument. Without a schema they are not looked at. */
function argsOf<S extends z.ZodType>(context: StageContext, part: string, schema: S | undefined): z.output<S> | undefined {
  if (schema === undefined) return undefined;
  const node = nodeAt(context.tree, ['algorithm', `${part}_args`]);
  if (node?.kind !== 'map') return schema.parse(undefined);
  const checked = checkStructure(node, schema);
  context.add(checked.problems);
  return schema.parse(toPlain(checked.root));
}

function deriveOptimizer(context: StageContext): OptimizerConfig {
  const { optimizer } = context.input.algorithm;
  const at = (key: string): KeyPath => ['algorithm', 'optimizer', key];
  if (optimizer.warmup_style !== null) context.warn(at('warmup_style'), 'is an old name; it is read as lr_scheduler_type.');
  const { grad_clip: trainerClip } = context.input.trainer;
  const clipSet = context.isSet(...at('clip_grad'));
  if (clipSet && context.isSet('trainer', 'grad_clip') && trainerClip !== optimizer.clip_grad) {
    context.report(
      ['trainer', 'grad_clip'],
      `got ${trainerClip}, but algorithm.optimizer.clip_grad says ${optimizer.clip_grad}, and both bound the gradient norm. Keep one of the two.`,
      [at('clip_grad')],
    );
  }
  return {
    lr: optimizer.lr,
    lrWarmupSteps: optimizer.lr_warmup_steps < 0 ? undefined : optimizer.lr_warmup_steps,
    lrWarmupStepsRatio: optimizer.lr_warmup_steps_ratio,
    minLrRatio: optimizer.min_lr_ratio,
    lrSchedulerType:
      optimizer.warmup_style !== null && !context.isSet(...at('lr_scheduler_type')) ? optimizer.warmup_style : optimizer.lr_scheduler_type,
    betas: optimizer.betas,
    weightDecay: optimizer.weight_decay,
    clipGradNorm: clipSet ? optimizer.clip_grad : trainerClip,
  };
}
