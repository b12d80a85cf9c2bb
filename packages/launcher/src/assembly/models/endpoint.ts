/** The HTTP endpoint through which agents reach the models of their runs. */
import {
  openEndpointServer,
  type EndpointMount,
  type EndpointServer,
  type RecordingModel,
} from '@trinity-rft/model';
import type { StageContext } from '../../context/stage-context.js';

/** On any free port of the loopback interface. @throws ModelError 503 when there is none */
export function openEndpoint({ runtime }: StageContext): Promise<EndpointServer> {
  return openEndpointServer({ runtime });
}

/**
 * Creates a model that stays mounted until the attempt is over. Its address is random, and only the
 * agent gets it.
 */
export function mountedModel(
  server: EndpointServer,
  signal: AbortSignal,
  create: (mounted: EndpointMount) => RecordingModel,
): RecordingModel {
  const mounted = server.mount({ handler: (request) => model.answer(request), signal });
  const model = create(mounted);
  return model;
}
