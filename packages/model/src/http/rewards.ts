/**
 * Accepts rewards that arrive after their rollouts: `POST /r/<rollout>/v1/rewards` with the key of
 * the mounted rollout, and `POST /v1/rewards` with one key for all rollouts.
 */
import { describeError, ModelError, type Clock, type Logger } from '@trinity-rft/core';
import type { RewardReceipt } from '@trinity-rft/core/store';
import { errorResponse } from '@trinity-rft/http-server';
import type { JsonObject } from '../protocols/shared/request/fields.js';
import { readBody } from '../protocols/shared/request/body.js';
import { createSignedKeys, digestOf, keysOf, withoutKey } from './keys.js';

/**
 * The runs of one task for which a mounted rollout may receive rewards: `count` runs, numbered from
 * `firstRun`.
 */
export interface ScoredRuns {
  /** Key of the task: `batch/task`. */
  readonly task: string;
  readonly firstRun: number;
  readonly count: number;
}

/**
 * Stores the reward of a run, and returns `stored` or the reason why it was not stored. `run` is an
 * id such as `batch/task/run`.
 */
export type ScoreRun = (run: string, reward: number) => RewardReceipt | Promise<RewardReceipt>;

export interface RewardRoute {
  /**
   * Creates a key with which a client can send rewards for these runs only. The key is valid for
   * the lifetime of the server.
   */
  keyFor(rollout: string, runs: ScoredRuns): string;
  /**
   * Answers a request to one of the reward paths. Returns undefined for all other paths. Does not
   * reject.
   */
  answer(request: Request): Promise<Response> | undefined;
}

export interface RewardRouteOptions {
  readonly score: ScoreRun;
  /**
   * Key with which a client may send a reward for any run, given the run's id.
   * @default no such key
   */
  readonly rewardKey?: string | undefined;
  readonly runtime: { readonly clock: Clock; readonly logger: Logger };
}

export function createRewardRoute({ score, rewardKey, runtime }: RewardRouteOptions): RewardRoute {
  const rewardDigest = rewardKey && digestOf(rewardKey);
  const keys = createSignedKeys();
  /**
   * Returns the runs for which the request may set rewards, or undefined if it may do so for all
   * runs.
   */
  const grantOf = (request: Request, rollout: string | undefined): ScoredRuns | undefined => {
    if (rollout === undefined) return assertRewardKey(request, rewardDigest);
    const grants = keysOf(request).map((key) => keys.read(key));
    const grant = grants.length === 1 ? parseGrant(grants[0]) : undefined;
    if (grant?.rollout === rollout) return grant.runs;
    const message =
      'The key scores no run of this address. Expected baseURL and apiKey of one model.endpoint() of the run, and the key in x-api-key or in Authorization: Bearer.';
    throw new ModelError(message, { status: 401, code: 'invalid_api_key' });
  };
  const receive: ScoreRun = async (run, reward) => {
    try {
      return await score(run, reward);
    } catch (error) {
      runtime.logger.error(`The reward of run "${run}" was not stored: ${describeError(error)}`);
      throw refusal(run, 'not_stored');
    }
  };
  const store = async (request: Request, rollout: string | undefined): Promise<Response> => {
    if (request.method !== 'POST')
      throw new ModelError(`Rewards are sent by POST, not by ${request.method}.`, {
        status: 405,
        code: 'method_not_allowed',
        details: { allow: 'POST' },
      });
    const runs = grantOf(request, rollout);
    const { value } = await readBody(request, { maxBodyBytes: 10_000, runtime }, expected);
    const { run, reward } = rewardOf(value);
    if (runs && !idsOf(runs).includes(run)) throw notOwn(run, runs);
    const receipt = await receive(run, reward);
    if (receipt !== 'stored') throw refusal(run, receipt);
    return Response.json({ run, reward });
  };
  return {
    keyFor: (rollout, runs) => keys.sign(JSON.stringify({ rollout, runs })),
    answer: (request) => {
      const pathname = withoutKey(new URL(request.url).pathname);
      const ofAll = rewardDigest !== undefined && /^\/v1\/rewards\/?$/.test(pathname);
      const rollout = /\/r\/([\w-]+)\/v1\/rewards\/?$/.exec(pathname)?.[1];
      if (rollout === undefined && !ofAll) return undefined;
      return store(request, rollout).catch(errorResponse);
    },
  };
}

function assertRewardKey(request: Request, digest: string | undefined): undefined {
  const [key, ...others] = keysOf(request);
  if (key !== undefined && others.length === 0 && digestOf(key) === digest) return;
  throw new ModelError(
    'Rewards by id alone need the key that the run was started with. Expected it in x-api-key or in Authorization: Bearer.',
    { status: 401, code: 'invalid_api_key' },
  );
}

const expected = '{ "run": "3/0/1", "reward": 1 }';

interface Grant {
  readonly rollout: string;
  readonly runs: ScoredRuns;
}

const parseGrant = (text: string | undefined): Grant | undefined =>
  text === undefined ? undefined : (JSON.parse(text) as Grant);

const idsOf = ({ task, firstRun, count }: ScoredRuns): readonly string[] =>
  Array.from({ length: count }, (_, i) => `${task}/${firstRun + i}`);

function rewardOf(value: unknown): { readonly run: string; readonly reward: number } {
  const { run, reward } =
    typeof value === 'object' && value !== null ? (value as JsonObject) : { run: undefined };
  if (typeof run === 'string' && typeof reward === 'number' && Number.isFinite(reward))
    return { run, reward };
  throw new ModelError(
    `The body is not a reward: expected ${expected}, with the id of a run and a finite number.`,
    { status: 422, code: 'reward_unusable' },
  );
}

function notOwn(run: string, runs: ScoredRuns): ModelError {
  const own = idsOf(runs).join(', ');
  return new ModelError(
    `The key may not score run ${JSON.stringify(run)}, only ${own}. Send a reward with the key of its own run.`,
    { status: 403, code: 'run_of_another_key' },
  );
}

type Refusal = Exclude<RewardReceipt, 'stored'> | 'not_stored';

/**
 * Creates the error that a client receives if its reward was not stored. The message reveals
 * nothing about the files of the training run.
 */
function refusal(run: string, reason: Refusal): ModelError {
  const [status, why] = refusals[reason];
  const message = `The reward of run "${run}" was not stored: ${why}.`;
  return new ModelError(message, { status, code: `reward_${reason}` });
}

const refusals: Readonly<Record<Refusal, readonly [number, string]>> = {
  unknown: [
    404,
    'no run with this id waits for a reward. Expected one whose workflow returned { pending: true }, in an explore step that is stored; send it again when the step is over',
  ],
  scored: [409, 'it has another reward already. A reward is final; the same one again is accepted'],
  late: [
    410,
    'it has another reward, or its deadline has passed. Raise deadlineMs, or explorer.max_reward_delay',
  ],
  unusable: [422, 'a reward is a number from -1e9 to 1e9'],
  not_stored: [503, 'the database of the run did not take it. Send it again'],
};
