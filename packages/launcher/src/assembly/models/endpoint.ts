/** The HTTP endpoint through which agents reach the models of their runs. */
import {
  openEndpointServer,
  type EndpointMount,
  type EndpointServer,
  type MountOptions,
  type RecordingModel,
  type ScoreRun,
} from '@trinity-rft/model';
import type { StageContext } from '../../context/stage-context.js';

/**
 * On any free port of the loopback interface.
 * @param score stores rewards that come after their runs; by default they are not accepted
 * @throws ModelError 503 when there is no port
 */
export function openEndpoint({ runtime }: StageContext, score?: ScoreRun): Promise<EndpointServer> {
  return openEndpointServer(score ? { runtime, score } : { runtime });
}

/**
 * Creates a model that stays mounted until the attempt is over. Its address is random, and only the
 * agent gets it.
 */
export function mountedModel(
  server: EndpointServer,
  { signal, runs }: Pick<MountOptions, 'runs'> & { readonly signal: AbortSignal },
  create: (mounted: EndpointMount) => RecordingModel,
): RecordingModel {
  const mounted = server.mount({ handler: (request) => model.answer(request), runs, signal });
  const model = create(mounted);
  return model;
}
