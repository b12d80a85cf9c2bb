/** Plays a task in an environment and returns its experiences. */
import {
  type Experience,
  type RawTask,
  CancelledError,
  taskSystemPrompt,
  withFields,
} from '@trinity-rft/core';
import {
  beginEpisode,
  playEpisode,
  type Environments,
  type PlayedEpisode,
} from '@trinity-rft/environment/playing';
import type { WorkflowContext } from '@trinity-rft/workflow';
import { chatOptions } from '@trinity-rft/workflow';
import { playOptions, type EnvironmentArgs } from './environment-args.js';
import { judgeOf } from './judge.js';

/**
 * Plays one episode of the task, and returns an experience for each model call. Each experience
 * contains the episode's reward, the turn number as its step, and the fields that step-wise
 * algorithms use: `info.step_reward`, and `info.env_state_hash` if the environment provides state
 * keys.
 * @throws EnvironmentError if the environment fails; TaskError if the row is invalid; ModelError if
 * the model fails
 */
export async function playTask(
  context: WorkflowContext,
  args: EnvironmentArgs,
  environments: Environments,
): Promise<readonly Experience[]> {
  const { task, model, runtime, signal } = context;
  const { logger, clock } = runtime;
  const name = args.environment;
  const environment = environments.open(name, args.environment_args, logger);
  const timeoutMs = args.environment_timeout * 1000;
  const startTimeoutMs = args.environment_start_timeout * 1000;
  const guard = { name, timeoutMs, startTimeoutMs, clock, logger, signal };
  const time = ownTime(context);
  try {
    const definition = environments.get(name);
    const judge = definition.judged ? judgeOf(context, args) : undefined;
    const start = { ...startOf(context), judge };
    const episode = await beginEpisode(environment, start, guard);
    try {
      const systemPrompt = taskSystemPrompt(task);
      const chat = { ...chatOptions(task.rolloutArgs), signal };
      const play = playOptions(args, definition);
      const options = { ...play, systemPrompt, chat, time };
      return experiencesOf(await playEpisode(model, episode, options));
    } finally {
      await episode.close();
    }
  } finally {
    time.cancel();
  }
}

/** Share of an attempt's time limit that the episode may use. The rest is reserved for grading. */
const ownShare = 0.9;

function ownTime({ runtime: { clock }, timeLimitMs }: WorkflowContext) {
  const over = new AbortController();
  const begun = clock.now();
  const end = (): void =>
    over.abort(new CancelledError('The time is over.', { reason: 'timeout' }));
  const cancel =
    timeLimitMs === undefined ? () => undefined : clock.after(ownShare * timeLimitMs, end);
  return { over: over.signal, elapsedMs: () => clock.now() - begun, cancel };
}

/**
 * Returns the row and the seed of the episode, which are the same for all rollouts of a task. In
 * evaluations, the seed does not depend on the batch, so evaluations at different steps remain
 * comparable.
 */
function startOf({ task, runtime }: WorkflowContext): { row: RawTask; seed: number } {
  const { taskset, row } = task.index;
  const times = task.isEval ? [] : [task.batchId];
  return { row: task.rawTask, seed: runtime.seedFor('episode', taskset, row, ...times) };
}

function experiencesOf({ turns, reward, metrics }: PlayedEpisode): readonly Experience[] {
  return turns.flatMap(({ experiences, reward: stepReward, stateKey }, step) =>
    experiences.map((experience) =>
      withFields(experience, {
        reward,
        // Without an explicit suffix, the explorer numbers the calls of a turn.
        eid: { ...experience.eid, step, suffix: '' },
        metrics: { ...experience.metrics, ...metrics },
        info: { ...experience.info, step_reward: stepReward, ...stateOf(stateKey) },
      }),
    ),
  );
}

const stateOf = (key: string | undefined) => (key === undefined ? {} : { env_state_hash: key });
