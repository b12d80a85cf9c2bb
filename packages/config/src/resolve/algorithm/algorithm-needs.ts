/** Checks that the file provides the pairs, experts and teacher that an algorithm needs. */
import { nodeAt, type KeyPath } from '../../source/node.js';
import { nowhere } from '../../source/problem.js';
import type { StageContext } from '../base/context.js';
import type { AlgorithmConfig, AuxiliaryModelConfig } from '../base/resolved.js';
import { keptRuns, workflowsSelect } from './algorithm.js';

const lossKey: KeyPath = ['algorithm', 'policy_loss_fn'];
const entropyKey: KeyPath = ['algorithm', 'entropy_loss_fn'];
const strategyKey: KeyPath = ['algorithm', 'sample_strategy'];
const typeKey: KeyPath = ['algorithm', 'algorithm_type'];

/**
 * Checks the needs of the algorithm. Reports problems at the key that causes the need, if the file
 * sets it, otherwise at the algorithm.
 */
export function checkNeeds(
  context: StageContext,
  config: AlgorithmConfig,
  auxiliaryModels: readonly AuxiliaryModelConfig[],
): void {
  checkPairs(context, config);
  checkExperts(context, config);
  checkTeacher(context, config, auxiliaryModels);
  warnOfImitation(context, config);
}

const setOne = (context: StageContext, ...paths: readonly KeyPath[]): KeyPath =>
  paths.find((path) => context.isSet(...path)) ?? typeKey;

function checkPairs(
  context: StageContext,
  { schema, needs, policyLossFn, algorithmType }: AlgorithmConfig,
): void {
  if (needs.pairs && schema !== 'dpo') {
    context.report(
      setOne(context, lossKey),
      `got "${policyLossFn.name}", which compares a better answer with a worse one, but ${algorithmType} has no pairs. Use algorithm_type: dpo.`,
      [typeKey],
    );
  }
  if (schema === 'dpo' && !needs.pairs && context.isSet(...lossKey)) {
    context.report(
      lossKey,
      `got "${policyLossFn.name}", which does not compare the answers of a pair. Remove the key.`,
      [typeKey],
    );
  }
}

function checkExperts(
  context: StageContext,
  { needs, policyLossFn, entropyLossFn, sampleStrategy, needsRollouts }: AlgorithmConfig,
): void {
  const mixes = sampleStrategy.name === 'mix';
  if (needs.expertMask && !mixes) {
    const { policyLossFns } = context.tables;
    const isLoss =
      policyLossFns[policyLossFn.name]?.make('policy loss', policyLossFn.args).needs.expertMask ===
      true;
    const part = isLoss
      ? `policy loss "${policyLossFn.name}"`
      : `entropy loss "${entropyLossFn.name}"`;
    context.report(
      setOne(context, strategyKey, isLoss ? lossKey : entropyKey),
      `the sample strategy is "${sampleStrategy.name}", but the ${part} needs batches of sampled and of expert experiences. Use sample_strategy: mix.`,
      [typeKey, lossKey, entropyKey],
    );
  }
  if (mixes && needsRollouts && !needs.expertMask) {
    context.report(
      setOne(context, lossKey, strategyKey),
      `the policy loss "${policyLossFn.name}" cannot tell expert experiences from sampled ones, so sample_strategy mix makes no sense with it. Use policy_loss_fn: mix or mix_chord.`,
      [typeKey, strategyKey],
    );
  }
}

/**
 * Reports an algorithm that needs a teacher in mode `serve`, where nothing asks one. Warns if there
 * is no auxiliary model in mode `both`. This is not an error, because a workflow may use a teacher
 * that is not in the configuration.
 */
function checkTeacher(
  context: StageContext,
  { needs, algorithmType }: AlgorithmConfig,
  models: readonly AuxiliaryModelConfig[],
): void {
  if (!needs.teacherLogprobs) return;
  const key = setOne(context, ['algorithm', 'advantage_fn']);
  // The command serves files of other modes too, and refuses commits.
  if (context.mode === 'serve' && nodeAt(context.tree, ['mode'])?.at.line !== nowhere.line)
    return context.report(
      key,
      `${algorithmType} learns from the log-probabilities that a teacher gives every token, which the answers to a product do not have. Use an algorithm that learns from rewards, such as grpo; trinity serve --model NAME=RUN serves a trained model.`,
      [typeKey, ['mode']],
    );
  if (models.length > 0 || context.mode !== 'both') return;
  context.warn(
    key,
    `${algorithmType} learns from the log-probabilities that a teacher gives every token, and explorer.auxiliary_models is empty. Add the teacher there, and use a workflow that asks it, such as on_policy_distill_workflow.`,
  );
}

/**
 * Warns of a policy loss that reads no advantages if nothing selects the rollouts to imitate. Says
 * nothing of stored experiences, which may have been selected.
 */
function warnOfImitation(context: StageContext, config: AlgorithmConfig): void {
  const { needsRollouts, policyLossFn, needs } = config;
  const { mode, input } = context;
  if (!needsRollouts || needs.pairs || (mode !== 'both' && mode !== 'serve')) return;
  if (needs.advantages || keptRuns(context, config) !== 'all' || workflowsSelect(context)) return;
  if (input.data_processor.experience_pipeline.operators.length > 0) return;
  context.warn(
    setOne(context, lossKey),
    `the policy loss "${policyLossFn.name}" imitates every answer, good or bad: it reads no advantages, so rewards have no effect. Use algorithm_type: raft, which imitates the best runs (advantage_fn_args: { keep: best }), or a policy loss with advantages, such as ppo.`,
  );
}
