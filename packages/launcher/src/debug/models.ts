/**
 * The models that a workflow is debugged with: a model that `inference_model` serves, else one that
 * is opened here.
 */
import type { ChatFormat } from '@trinity-rft/chat';
import type { Sampler } from '@trinity-rft/core';
import type { EndpointServer } from '@trinity-rft/model';
import { openAuxiliaryModels, type AuxiliaryModels } from '../assembly/models/auxiliary-models.js';
import { openEndpoint } from '../assembly/models/endpoint.js';
import { openEngine } from '../assembly/models/engine.js';
import type { StageContext } from '../context/stage-context.js';
import { findServedModel } from './served-model.js';

export interface DebugModels {
  readonly sampler: Sampler;
  /** Address of the process that has the model loaded; absent when it is loaded here. */
  readonly servedAt?: string;
  readonly auxiliary: AuxiliaryModels;
  readonly endpoint: EndpointServer;
  /** Aborts when a model cannot sample any more. */
  readonly gone: AbortSignal;
  close(): Promise<void>;
}

/**
 * @param outputDirectory where a served model says that it is there.
 * @throws ConfigError when a model cannot be used
 */
export async function openDebugModels(
  context: StageContext,
  format: ChatFormat,
  outputDirectory: string,
): Promise<DebugModels> {
  const closers: (() => Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const one of closers.splice(0).toReversed()) await one();
  };
  try {
    const served = await findServedModel(outputDirectory, context.startModel);
    const engine = served ? undefined : await openSampling(context, format);
    if (engine) closers.push(() => engine.close());
    const endpoint = await openEndpoint(context);
    closers.push(() => endpoint.close());
    const auxiliary = await openAuxiliaryModels(context, endpoint);
    closers.push(() => auxiliary.close());
    return {
      sampler: served?.sampler ?? engine!.sampler,
      ...(served && { servedAt: served.url }),
      auxiliary,
      endpoint,
      gone: AbortSignal.any([auxiliary.gone, ...(engine ? [engine.gone] : [])]),
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

/** The engine, sampling from the weights that it was opened with as version 0. */
export async function openSampling(
  context: StageContext,
  format: ChatFormat,
): Promise<Awaited<ReturnType<typeof openEngine>>> {
  const engine = await openEngine(context, { reference: false, format });
  try {
    await engine.trainer.publish(0);
    await engine.sampler.adopt({ kind: 'published' }, 0);
    return engine;
  } catch (error) {
    await engine.close();
    throw error;
  }
}
