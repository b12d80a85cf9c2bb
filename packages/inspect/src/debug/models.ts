/** Models that do not learn, for trying workflows. */
import type { ChatFormat } from '@trinity-rft/chat';
import type { Sampler } from '@trinity-rft/core/engine';
import type { EndpointServer } from '@trinity-rft/model';
import {
  openAuxiliaryModels,
  openEndpoint,
  openFrozenEngine,
  openTogether,
  type AuxiliaryModels,
} from '@trinity-rft/launcher/parts';
import type { FrozenContext } from './frozen-context.js';
import { findServedModel } from './served-model.js';

export interface FrozenModels {
  readonly sampler: Sampler;
  /** Address of the process that has loaded the model; undefined if this process loads it. */
  readonly servedAt: string | undefined;
  readonly auxiliary: AuxiliaryModels;
  readonly endpoint: EndpointServer;
  /** Aborts with the engine's error once a model can no longer sample. */
  readonly engineFailed: AbortSignal;
  close(): Promise<void>;
}

/**
 * @param outputDirectory folder in which `inference_model` registers a served model. Without it,
 * the model is always opened here.
 * @throws ConfigError when a model cannot be used
 */
export function openFrozenModels(
  { stage, startModel, extensions: { engines }, runtime, signal }: FrozenContext,
  format: ChatFormat,
  outputDirectory?: string,
): Promise<FrozenModels> {
  const frozen = { startModel, format, runtime, signal };
  return openTogether(async (stack) => {
    const served =
      outputDirectory === undefined
        ? undefined
        : await findServedModel(outputDirectory, startModel);
    const model = served ?? stack.use(await openFrozenEngine(stage, frozen, engines));
    const endpoint = stack.use(await openEndpoint(runtime));
    const auxiliary = stack.use(await openAuxiliaryModels(stage, runtime, engines, endpoint));
    return {
      sampler: model.sampler,
      servedAt: served?.url,
      auxiliary,
      endpoint,
      engineFailed: AbortSignal.any([
        auxiliary.failed,
        ...('failed' in model ? [model.failed] : []),
      ]),
      close: () => stack.close(),
    };
  });
}
