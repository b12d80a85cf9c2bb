/** Everything that exploring and training need, opened. */
import type { Engine, ExperienceStore, ValueEngine } from '@trinity-rft/core';
import type { Algorithm } from '@trinity-rft/core/internal';
import type { ChatFormat } from '@trinity-rft/chat';
import type { EndpointServer } from '@trinity-rft/model';
import { algorithmOf } from '../../assembly/algorithm.js';
import { openSampling, type Sampling } from '../../assembly/data/sample-strategy.js';
import type { StageTasks } from '../../assembly/data/tasks.js';
import {
  openAuxiliaryModels,
  type AuxiliaryModels,
} from '../../assembly/models/auxiliary-models.js';
import { openCritic } from '../../assembly/models/critic.js';
import { openEndpoint } from '../../assembly/models/endpoint.js';
import { openEngine } from '../../assembly/models/engine.js';
import { createTransport, type StageTransport } from '../../assembly/transport.js';
import { openTogether, type Closable } from '../../context/disposable.js';
import type { StageContext } from '../../context/stage-context.js';

interface DataParts {
  readonly format: ChatFormat;
  readonly tasks: StageTasks;
  readonly store: ExperienceStore;
}

export interface LoopParts extends DataParts, Closable {
  readonly algorithm: Algorithm;
  readonly sampling: Sampling;
  readonly engine: Engine;
  readonly critic: ValueEngine | undefined;
  readonly endpoint: EndpointServer;
  readonly auxiliary: AuxiliaryModels;
  readonly transport: StageTransport;
  /** Aborts with the engine's error once any model can no longer sample. */
  readonly engineFailed: AbortSignal;
}

/** Closing the parts leaves `data` open. */
export function openParts(context: StageContext, data: DataParts): Promise<LoopParts> {
  return openTogether(async (stack) => {
    const { format, store } = data;
    const algorithm = algorithmOf(context);
    const reference = algorithm.needs.referenceLogprobs;
    const sampling = stack.use(await openSampling(context, format, store));
    const engine = stack.use(await openEngine(context, { reference, format }));
    const critic = await openCritic(context, algorithm);
    if (critic) stack.use(critic);
    const endpoint = stack.use(await openEndpoint(context));
    const auxiliary = stack.use(await openAuxiliaryModels(context, endpoint));
    const transport = stack.use(createTransport(context.stage, engine));
    return {
      ...data,
      algorithm,
      sampling,
      engine,
      critic,
      endpoint,
      auxiliary,
      transport,
      engineFailed: AbortSignal.any([engine.failed, auxiliary.failed]),
      close: () => stack.close(),
    };
  });
}
