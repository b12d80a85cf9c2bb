/** Warns of sampling settings that make importance ratios differ from 1 even on-policy. */
import type { AlgorithmConfig, BufferConfig, RolloutModelConfig } from './base/resolved.js';
import { plainUnlessSecret, showValue } from '../source/secrets.js';
import { nodeAt, type KeyPath } from '../source/node.js';
import type { StageContext } from './base/context.js';

/** A setting that excludes tokens from sampling. */
interface Cut {
  readonly path: KeyPath;
  /** Condition, as a clause of the message; undefined if the setting always applies. */
  readonly when?: string;
  readonly fix: string;
}

/**
 * Checks the settings of rollouts. Does not check the settings of evaluations, because their
 * samples are not trained on.
 */
export function checkDistribution(
  context: StageContext,
  algorithm: AlgorithmConfig,
  {
    buffer,
    rolloutModel,
  }: { readonly buffer: BufferConfig; readonly rolloutModel: RolloutModelConfig },
): void {
  const cuts = cutsOf(context, buffer, rolloutModel);
  if (!algorithm.needs.ratios) return;
  for (const { path, when = '', fix } of cuts) {
    const node = nodeAt(context.tree, path);
    const got =
      node === undefined ? '' : `got ${showValue(plainUnlessSecret(node), path)}, so ${when}`;
    context.warn(
      path,
      `${got}tokens are drawn from a part of the vocabulary and their log-probabilities are of that part, while the trainer's are of all of it: importance ratios of the policy loss "${algorithm.policyLossFn.name}" differ from 1 on policy, as training/rollout_logprobs_diff_* shows. ${fix}, or a policy loss without ratios, such as opmd.`,
    );
  }
}

const rolloutModelKey: KeyPath = ['explorer', 'rollout_model'];

function cutsOf(
  context: StageContext,
  { explorerInput }: BufferConfig,
  model: RolloutModelConfig,
): readonly Cut[] {
  const { mode } = context;
  if (mode !== 'both' && mode !== 'serve') return [];
  const cuts =
    mode === 'serve'
      ? samplingCuts(context, rolloutModelKey, model)
      : explorerInput.tasksets.flatMap(({ rolloutArgs }, index) => {
          const section = ['buffer', 'explorer_input', 'tasksets', index, 'rollout_args'];
          return samplingCuts(context, section, rolloutArgs);
        });
  return [...cuts, ...answerCuts(context, model)];
}

/**
 * Returns the path of the key that determines a setting: the key in `section` if it is set,
 * otherwise the one in `explorer.rollout_model` if that is set, otherwise the one in `model`.
 */
export const deciding = (context: StageContext, section: KeyPath, key: string): KeyPath =>
  [section, rolloutModelKey]
    .map((each): KeyPath => [...each, key])
    .find((path) => context.isSet(...path)) ?? ['model', key];

function samplingCuts(
  context: StageContext,
  section: KeyPath,
  { topP, topK }: { readonly topP: number; readonly topK: number },
): readonly Cut[] {
  const cuts: Cut[] = [];
  if (topP < 1) cuts.push({ path: deciding(context, section, 'top_p'), fix: 'Use 1' });
  if (topK > 0) cuts.push({ path: deciding(context, section, 'top_k'), fix: 'Use -1' });
  return cuts;
}

/** Returns the settings that exclude tokens only in some parts of a response. */
function answerCuts(context: StageContext, model: RolloutModelConfig): readonly Cut[] {
  const cuts: Cut[] = [];
  if (model.minResponseTokens > 0)
    cuts.push({
      path: deciding(context, rolloutModelKey, 'min_response_tokens'),
      when: 'up to that length ',
      fix: 'Use 0',
    });
  if (context.input.explorer.constrained_decoding)
    cuts.push({
      path: ['explorer', 'constrained_decoding'],
      when: 'where a request asks for a format ',
      fix: 'Use false',
    });
  return cuts;
}

/**
 * Returns true if the loss is imitation: it does not depend on rewards or on the behaviour policy's
 * log-probabilities. Rewards may still determine which responses are trained on.
 */
export const imitates = ({ klPenaltyFn, needs }: AlgorithmConfig): boolean =>
  klPenaltyFn.name === 'none' && !needs.advantages && !needs.ratios;
