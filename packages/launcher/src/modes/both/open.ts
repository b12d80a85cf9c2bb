/** Opens everything that exploring and training need. */
import type { Engine, ValueEngine } from '@trinity-rft/core/engine';
import { openTogether, type Closable, type ResourceStack } from '@trinity-rft/core/support';
import type { Algorithm } from '@trinity-rft/core/internal';
import type { ExperienceStore } from '@trinity-rft/core/store';
import type { ChatFormat } from '@trinity-rft/chat';
import { algorithmOf } from '../../assembly/algorithm.js';
import { openSampling, type Sampling } from '../../assembly/data/sample-strategy.js';
import type { StageTasks } from '../../assembly/data/tasks.js';
import { runsHere, type RunSide } from '../../assembly/explorer-options.js';
import { openAuxiliaryModels } from '../../assembly/models/auxiliary-models.js';
import { openCritic } from '../../assembly/models/critic.js';
import { openEndpoint } from '../../assembly/models/endpoint.js';
import { openEngine } from '../../assembly/models/engine.js';
import { createTransport, type StageTransport } from '../../assembly/transport.js';
import type { StageContext } from '../../context/stage-context.js';

export interface DataParts {
  readonly format: ChatFormat;
  readonly tasks: StageTasks;
  readonly store: ExperienceStore;
}

/** The part that makes rollouts, and the transport of weights to this part. */
interface ExploreSide {
  readonly runs: RunSide;
  readonly transport: StageTransport;
  /** Signal that aborts with an error once no more rollouts can be made. */
  readonly failed: AbortSignal;
}

/** Opens the part that makes rollouts. Adds resources that must be closed to `stack`. */
export type OpenExploreSide = (
  parts: Pick<DataParts, 'format' | 'store'> & { readonly engine: Engine },
  stack: ResourceStack,
) => Promise<ExploreSide>;

/** Parts of the loop that differ if other processes explore. */
export interface RemoteExploration {
  readonly openExploreSide: OpenExploreSide;
  /**
   * Wraps the experience store so that other processes can read which experiences were trained on.
   */
  readonly share: (store: ExperienceStore) => ExperienceStore;
}

/** Creates the function that opens the exploring part in the trainer's process. */
const exploreHere =
  ({ stage, runtime, extensions: { engines }, rewardKey, env }: StageContext): OpenExploreSide =>
  async ({ engine, format, store }, stack) => {
    const endpoint = stack.use(await openEndpoint(runtime, store.lateRewards?.score, rewardKey));
    const auxiliary = stack.use(await openAuxiliaryModels(stage, runtime, engines, endpoint));
    const transport = stack.use(createTransport(stage, engine));
    const { sampler } = engine;
    const runs = runsHere(stage, runtime, { sampler, format, auxiliary, endpoint, env });
    return { runs, transport, failed: auxiliary.failed };
  };

export interface LoopParts extends DataParts, Closable {
  readonly algorithm: Algorithm;
  readonly sampling: Sampling;
  readonly engine: Engine;
  readonly critic: ValueEngine | undefined;
  readonly runs: RunSide;
  readonly transport: StageTransport;
  /**
   * Signal that aborts with an error once a model can no longer sample, or no more rollouts can be
   * made.
   */
  readonly engineFailed: AbortSignal;
}

/** Opens the parts that explore and train. Closing them does not close `data`. */
export function openParts(
  context: StageContext,
  data: DataParts,
  openExploreSide = exploreHere(context),
): Promise<LoopParts> {
  return openTogether(async (stack) => {
    const { stage, startModel, runtime, signal, env } = context;
    const { engines, algorithms } = context.extensions;
    const { format, store } = data;
    const algorithm = algorithmOf(stage, algorithms);
    const model = { startModel, format, runtime, signal, env };
    const sampling = stack.use(await openSampling(stage, model, store));
    const { referenceLogprobs } = algorithm.needs;
    const engine = stack.use(await openEngine(stage, model, engines, referenceLogprobs));
    const critic = await openCritic(stage, startModel, engines);
    if (critic) stack.use(critic);
    const { runs, transport, failed } = await openExploreSide({ engine, format, store }, stack);
    return {
      ...data,
      algorithm,
      sampling,
      engine,
      critic,
      runs,
      transport,
      engineFailed: AbortSignal.any([engine.failed, failed]),
      close: () => stack.close(),
    };
  });
}
