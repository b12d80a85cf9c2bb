/** Reports sampling settings that the engine does not support. */
import type { KeyPath } from '../source/node.js';
import { comparesRuns, workflowsSelect } from './algorithm/algorithm.js';
import { deciding } from './sampling-distribution.js';
import type { StageContext } from './base/context.js';
import type {
  AlgorithmConfig,
  BufferConfig,
  RolloutModelConfig,
  SamplerConfig,
} from './base/resolved.js';

interface Sampling {
  readonly engine: string;
  readonly algorithm: AlgorithmConfig;
  readonly buffer: BufferConfig;
  readonly rolloutModel: RolloutModelConfig;
  /** Program that samples instead of the engine; undefined if the engine also samples. */
  readonly sampler: SamplerConfig | undefined;
}

/**
 * Checks the settings of rollouts. Evaluation may use any temperature, because its samples are not
 * trained on.
 */
export function checkSamplingLimits(
  context: StageContext,
  { engine, algorithm, buffer, rolloutModel, sampler }: Sampling,
): void {
  const capabilities = context.engines[engine]?.capabilities;
  if (capabilities === undefined || context.input.mode === 'bench') return;
  if (comparesRuns(context, algorithm) && !workflowsSelect(context)) warnOfGreedy(context, buffer);
  if (!capabilities.anyTemperature) checkTemperatures(context, { engine, buffer, rolloutModel });
  if (sampler === undefined && !capabilities.samplingControls)
    checkControls(context, engine, rolloutModel);
}

/** Warns of greedy sampling for an algorithm that compares the rollouts of a task. */
function warnOfGreedy(context: StageContext, { explorerInput }: BufferConfig): void {
  for (const [index, { rolloutArgs }] of explorerInput.tasksets.entries()) {
    const section = ['buffer', 'explorer_input', 'tasksets', index, 'rollout_args'];
    if (rolloutArgs.temperature === 0)
      context.warn(
        deciding(context, section, 'temperature'),
        'got 0, so the runs of a task give the same answers, unless the workflow sets a temperature or its environment differs, and comparing equal runs teaches nothing. Use 1, or set 0 in the rollout_args of eval_tasksets only.',
      );
  }
}

function checkTemperatures(
  context: StageContext,
  { engine, buffer, rolloutModel }: Omit<Sampling, 'sampler' | 'algorithm'>,
): void {
  const report = (section: KeyPath, temperature: number): void => {
    if (temperature === 1) return;
    context.report(
      deciding(context, section, 'temperature'),
      `got ${temperature}, but the engine "${engine}" trains at temperature 1 only: importance ratios would compare two distributions. Use 1.`,
    );
  };
  if (context.mode === 'serve') report(['explorer', 'rollout_model'], rolloutModel.temperature);
  for (const [index, { rolloutArgs }] of buffer.explorerInput.tasksets.entries())
    report(
      ['buffer', 'explorer_input', 'tasksets', index, 'rollout_args'],
      rolloutArgs.temperature,
    );
}

function checkControls(
  context: StageContext,
  engine: string,
  { minResponseTokens }: RolloutModelConfig,
): void {
  const cannot = `but the engine "${engine}" samples freely only`;
  if (minResponseTokens > 0) {
    const place = deciding(context, ['explorer', 'rollout_model'], 'min_response_tokens');
    context.report(place, `got ${minResponseTokens}, ${cannot}. Use 0.`);
  }
  if (context.input.explorer.constrained_decoding)
    context.report(['explorer', 'constrained_decoding'], `got true, ${cannot}. Use false.`);
}
