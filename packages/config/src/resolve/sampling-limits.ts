/** Reports sampling settings that the engine does not support. */
import type { KeyPath } from '../source/node.js';
import { deciding } from './sampling-distribution.js';
import type { StageContext } from './base/context.js';
import type { BufferConfig, RolloutModelConfig, SamplerConfig } from './base/resolved.js';

interface Sampling {
  readonly engine: string;
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
  { engine, buffer, rolloutModel, sampler }: Sampling,
): void {
  const capabilities = context.engines[engine]?.capabilities;
  if (capabilities === undefined || context.input.mode === 'bench') return;
  if (!capabilities.anyTemperature) checkTemperatures(context, { engine, buffer, rolloutModel });
  if (sampler === undefined && !capabilities.samplingControls)
    checkControls(context, engine, rolloutModel);
}

function checkTemperatures(
  context: StageContext,
  { engine, buffer, rolloutModel }: Omit<Sampling, 'sampler'>,
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
