/** Opens the HTTP endpoint through which agents access the models of their rollouts. */
import {
  openEndpointServer,
  type EndpointMount,
  type EndpointServer,
  type MountOptions,
  type RecordingModel,
  type ScoreRun,
} from '@trinity-rft/model';
import { ConfigError, type Runtime } from '@trinity-rft/core';

/**
 * Opens the endpoint on a free port of the loopback interface.
 * @param score stores rewards that arrive after their rollouts. @default undefined: late rewards
 * are not accepted
 * @param rewardKey key with which a client may reward any rollout by its id
 * @throws ModelError 503 when no port is free
 */
export async function openEndpoint(
  runtime: Runtime,
  score?: ScoreRun,
  rewardKey?: string,
): Promise<EndpointServer> {
  if (score === undefined) return openEndpointServer({ runtime });
  const server = await openEndpointServer({ runtime, score, rewardKey });
  if (rewardKey !== undefined)
    runtime.logger.info(
      `Rewards by the id of a run: POST ${server.url}/v1/rewards with the key of ${rewardKeyVariable}.`,
    );
  return server;
}

const rewardKeyVariable = 'TRINITY_REWARD_KEY';

/**
 * Reads the key with which a client may reward any rollout. Returns undefined if the variable is
 * not set.
 * @throws ConfigError if the variable holds no valid key
 */
export function rewardKeyOf(env: Readonly<Record<string, string | undefined>>): string | undefined {
  const key = env[rewardKeyVariable] || undefined;
  if (key === undefined || /^[\x21-\x7e]{16,512}$/.test(key)) return key;
  throw new ConfigError(
    `${rewardKeyVariable} has ${key.length} characters, or others than printable ASCII; expected 16 to 512 printable ASCII characters.`,
    { code: 'REWARD_KEY' },
  );
}

/**
 * Creates a model that is mounted at a random URL of the endpoint until the attempt is over. Only
 * the agent of the attempt receives the URL.
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
