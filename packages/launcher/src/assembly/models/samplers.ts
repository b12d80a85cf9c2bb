/** Opens samplers that configurations can choose instead of the training engine's own sampler. */
import path from 'node:path';
import { vocabularySample } from '@trinity-rft/chat/internal';
import type { SamplerConfig, StageConfig } from '@trinity-rft/config';
import { InvariantError } from '@trinity-rft/core';
import type {
  Engine,
  EngineCapabilities,
  RemoteSampler,
  SamplerFactory,
  TrainEngine,
} from '@trinity-rft/core/engine';
import { knowSecret } from '@trinity-rft/core/support';
import { sglangSampler, vllmSampler } from '../../outer/outer.js';
import type { StageModel } from './chat-format.js';
import { compositeEngine } from './composite-engine.js';
import { probeTokens } from './probe.js';

const samplers: Readonly<Record<SamplerConfig['name'], SamplerFactory>> = {
  vllm: vllmSampler,
  sglang: sglangSampler,
};

/** Returns true if the stage samples on separate servers instead of in its own engine. */
export const usesSamplingServers = ({ sampler, mode, part }: StageConfig): boolean =>
  sampler !== undefined && mode !== 'train' && part !== 'train';

/**
 * Returns true if weights are transferred as adapters, because the sampler already has the base
 * model.
 */
export const takesAdapters = (
  { model, sampler }: Pick<StageConfig, 'model' | 'sampler'>,
  { fullParameter }: EngineCapabilities,
): boolean => model.lora !== undefined || (sampler !== undefined && !fullParameter);

/**
 * Opens an engine that samples on the stage's servers. Opens the trainer too, unless another
 * process trains.
 */
export async function openWithSampler(
  stage: StageConfig,
  model: StageModel,
  capabilities: EngineCapabilities,
  openTrainer: () => Promise<Engine>,
): Promise<Engine> {
  const adapters = takesAdapters(stage, capabilities);
  const sampler = await openSampler(stage, model, adapters);
  if (stage.part === 'explore')
    return { capabilities, trainer: noTrainer, sampler, close: () => sampler.close() };
  try {
    return await compositeEngine({
      engine: await openTrainer(),
      sampler,
      adapters,
      folder: path.join(stage.jobDirectory, 'sync'),
      probe: probeTokens(model.format, sampler.maxModelLen),
    });
  } catch (error) {
    await sampler.close();
    throw error;
  }
}

function openSampler(
  { sampler, model, explorer, synchronizer }: StageConfig,
  { startModel, format, runtime, signal }: StageModel,
  adapters: boolean,
): Promise<RemoteSampler> {
  if (sampler === undefined)
    throw new InvariantError('The stage names no sampler.', { code: 'SAMPLER_MISSING' });
  for (const { apiKey } of sampler.servers) if (apiKey !== undefined) knowSecret(apiKey);
  const { clock, logger } = runtime;
  return samplers[sampler.name].open({
    modelPath: startModel,
    servers: sampler.servers,
    lora: adapters,
    maxModelLen: model.maxModelLen,
    vocabulary: vocabularySample(format.tokenizer),
    // In the other sync styles, no sequence is in flight during a weight sync, or sequences must
    // finish with the weights with which they started.
    inFlight: synchronizer.syncStyle === 'fully_async' ? 'continue' : 'finish',
    tolerance: sampler.tolerance,
    timeoutMs: explorer.maxTimeoutMs,
    clock,
    logger,
    signal,
  });
}

const unused = (): Promise<never> =>
  Promise.reject(
    new InvariantError('An explorer does not train.', { code: 'EXPLORER_HAS_NO_TRAINER' }),
  );

const noTrainer: TrainEngine = {
  forward: unused,
  backward: unused,
  step: unused,
  publish: unused,
  save: unused,
  load: unused,
  stats: () => Promise.resolve({}),
};
