/** Makes the weights of the trained model available to the sampler. */
import { describeError } from '@trinity-rft/core';
import { samplingSessionAnswer } from '../../protocol/index.js';
import {
  createModel,
  type ModelContext,
  type ModelOptions,
  type RemoteModel,
} from '../remote/model.js';
import type { Connection } from '../http/connection.js';
import { removeSaved } from '../remote/saved.js';
import { holdSampling, type SamplingHandle } from './handle.js';

/**
 * Kind of weights that a sampling session uses: `snapshot` if it uses the weights as saved, `live`
 * if it uses the current weights of the model that saved them (SkyRL on JAX). On a `live` server,
 * sampling from older saved weights would overwrite the weights in training, so older weights are
 * loaded into a separate model.
 */
export type SamplingWeights = 'snapshot' | 'live';

interface SavedPaths {
  /** Path of the weights and the optimizer moments. */
  readonly weights: string;
  /** Path of the adapter, which samplers load. */
  readonly sampler: string;
}

export interface WeightDelivery {
  /** Makes the current weights of a model available for sampling. */
  ofModel(model: RemoteModel): Promise<SamplingHandle>;
  ofCheckpoint(saved: SavedPaths): Promise<SamplingHandle>;
  /** Makes the weights of the base model, without an adapter, available for sampling. */
  ofBase(): Promise<SamplingHandle>;
  /** Models on the server that hold copies of weights. */
  readonly copies: Iterable<Pick<RemoteModel, 'unload'>>;
}

export interface DeliveryOptions {
  readonly context: ModelContext;
  readonly connection: Connection;
  readonly model: ModelOptions;
  readonly sampling: SamplingWeights;
}

export function deliverWeights({
  context,
  connection,
  model: modelOptions,
  sampling,
}: DeliveryOptions): WeightDelivery {
  const { calls, session, logger } = context;
  let saves = 0;
  const copies = new Set<Pick<RemoteModel, 'unload'>>();

  const ofCopy = async (path: string): Promise<SamplingHandle> => {
    const copy = await createModel(context, modelOptions);
    let unloaded: Promise<void> | undefined;
    const release = (): Promise<void> =>
      (unloaded ??= copy.unload().finally(() => copies.delete(held)));
    const held = { unload: release };
    copies.add(held);
    try {
      await copy.load(path, false);
      return holdSampling(await copy.saveForSampling(), { release, logger });
    } catch (error) {
      release().catch((problem: unknown) =>
        logger.warn(`A copy of the weights stays on the server: ${describeError(problem)}`),
      );
      throw error;
    }
  };
  const ofSession = async (
    source: { readonly base_model: string } | { readonly model_path: string },
  ): Promise<SamplingHandle> => {
    const what = 'open a sampling session';
    const request = {
      session_id: session.id,
      sampling_session_seq_id: session.nextSampler(),
      ...source,
    };
    const answer = await calls.ask('create_sampling_session', request, samplingSessionAnswer, {
      what,
    });
    return holdSampling(answer.sampling_session_id, { logger });
  };

  return {
    copies,
    ofModel: async (model) => {
      if (sampling === 'snapshot') return holdSampling(await model.saveForSampling(), { logger });
      const name = `sync-${++saves}`;
      const path = await model.saveWeights(name);
      try {
        return await ofCopy(path);
      } finally {
        void removeSaved({ connection, logger }, { modelId: model.id, kind: 'weights', name });
      }
    },
    ofCheckpoint: ({ weights, sampler }) =>
      sampling === 'snapshot' ? ofSession({ model_path: sampler }) : ofCopy(weights),
    ofBase: () => ofSession({ base_model: modelOptions.baseModel }),
  };
}
