/** `POST /r/<rollout>/v1/rewards`: rewards that come after their runs, with the key of the rollout. */
import { ModelError, type Clock } from '@trinity-rft/core';
import type { JsonObject } from '../protocols/shared/request/fields.js';
import { errorResponse } from '../protocols/shared/answer/error-response.js';
import { readBody } from '../protocols/shared/request/body.js';
import { createSignedKeys, keysOf } from './keys.js';

/** Runs of a task that a rollout makes, from `firstRun` on. */
export interface ScoredRuns {
  /** `batch/task` */
  readonly task: string;
  readonly firstRun: number;
  readonly count: number;
}

/** Stores the reward of a run. @throws ModelError saying why it does not */
export type ScoreRun = (run: string, reward: number) => void | Promise<void>;

export interface RewardRoute {
  /** A key that may score these runs as long as the server lives, and no others. */
  keyFor(rollout: string, runs: ScoredRuns): string;
  /** Undefined for requests to other paths. Never rejects. */
  answer(request: Request): Promise<Response> | undefined;
}

export function createRewardRoute(
  score: ScoreRun,
  runtime: { readonly clock: Clock },
): RewardRoute {
  const keys = createSignedKeys();
  const grantOf = (request: Request, rollout: string): ScoredRuns => {
    const grants = keysOf(request).map((key) => keys.read(key));
    const grant = grants.length === 1 ? parseGrant(grants[0]) : undefined;
    if (grant?.rollout === rollout) return grant.runs;
    const message =
      'The key scores no run of this address. Expected baseURL and apiKey of one model.endpoint() of the run, and the key in Authorization: Bearer or in x-api-key.';
    throw new ModelError(message, { status: 401, code: 'invalid_api_key' });
  };
  const store = async (request: Request, rollout: string): Promise<Response> => {
    if (request.method !== 'POST')
      throw new ModelError(`Rewards are sent by POST, not by ${request.method}.`, {
        status: 405,
        code: 'method_not_allowed',
        details: { allow: 'POST' },
      });
    const runs = grantOf(request, rollout);
    const { value } = await readBody(request, { maxBodyBytes: 10_000, runtime }, expected);
    const { run, reward } = rewardOf(value);
    if (!idsOf(runs).includes(run)) throw notOwn(run, runs);
    await score(run, reward);
    return Response.json({ run, reward });
  };
  return {
    keyFor: (rollout, runs) => keys.sign(JSON.stringify({ rollout, runs })),
    answer: (request) => {
      const rollout = /\/r\/([\w-]+)\/v1\/rewards\/?$/.exec(new URL(request.url).pathname)?.[1];
      return rollout === undefined ? undefined : store(request, rollout).catch(errorResponse);
    },
  };
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
