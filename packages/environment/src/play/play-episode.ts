/** Plays an episode as a conversation between model and environment. */
import {
  EnvironmentError,
  ModelError,
  type ChatMessage,
  type ChatOptions,
  type ChatResponse,
  type Experience,
  type Metrics,
  type RolloutModel,
  InvariantError,
  meanMetrics,
} from '@trinity-rft/core';
import type { ToolAction } from '../seam/types.js';
import type { GuardedEpisode } from './guarded-episode.js';
import { asMessage, asObservation, opening } from './messages.js';
import { readActions, type ReadAction } from './read-actions.js';
import { combineRewards, type RewardRule } from './rewards.js';

export interface PlayOptions {
  readonly maxTurns: number;
  /**
   * Regular expression with the flag `g` that finds actions in a message. The action is the first
   * group of a match or, without groups, the whole match.
   * @default the whole message, trimmed, is the action
   */
  readonly actionPattern?: RegExp;
  /**
   * Format of an action. It is shown to the model after a message without an action.
   * @default `actionPattern`
   */
  readonly actionHint?: string;
  readonly reward: RewardRule;
  /** Episode rewards below this value become 0. @default no threshold */
  readonly rewardThreshold?: number;
  /** System prompt for the policy. @default the instructions of the episode */
  readonly systemPrompt?: string;
  readonly chat: ChatOptions;
  /** Time limit of the policy in the episode. @default no limit */
  readonly time?: OwnTime;
}

/** Time limit of an episode, without the time reserved for its grade. */
interface OwnTime {
  /** Signal that aborts when the time limit is reached. */
  readonly over: AbortSignal;
  /** Returns the time since the rollout began, in ms. */
  readonly elapsedMs: () => number;
}

/**
 * Reason why the episode ended: the environment ended it (`done`) or reached its own limit
 * (`truncated`), or the policy ran out of turns, tokens or time.
 */
export type EpisodeEnd = 'done' | 'truncated' | 'out_of_turns' | 'out_of_tokens' | 'out_of_time';

export interface PlayedTurn {
  /** Sum of the rewards of the turn's actions. In the last turn, the grade is added. */
  readonly reward: number;
  /** State key before the turn's actions; undefined if the environment has no state keys. */
  readonly stateKey: string | undefined;
  /** Experiences recorded in the turn. */
  readonly experiences: readonly Experience[];
}

export interface PlayedEpisode {
  readonly reward: number;
  readonly end: EpisodeEnd;
  /** Turns of the episode: one per model call that recorded experiences. */
  readonly turns: readonly PlayedTurn[];
  readonly metrics: Metrics;
}

type Model = Pick<RolloutModel, 'chat' | 'extractExperiencesFromHistory'>;

/**
 * Plays an episode until it ends. If the policy does not finish the episode, its last state is
 * graded.
 * @throws EnvironmentError if the environment fails or gives no reward, and ModelError if a model
 * call fails
 */
export async function playEpisode(
  model: Model,
  episode: GuardedEpisode,
  options: PlayOptions,
): Promise<PlayedEpisode> {
  const play = new Play(episode, options);
  const turns: PlayedTurn[] = [];
  let calls = 0;
  let end: EpisodeEnd | undefined;
  while (end === undefined) {
    const stateKey = episode.stateKey();
    const before = play.earned;
    end = await play.turn(model);
    calls++;
    const experiences = model.extractExperiencesFromHistory();
    if (experiences.length > 0) turns.push({ reward: play.earned - before, stateKey, experiences });
    if (end === undefined && calls >= options.maxTurns) end = 'out_of_turns';
  }
  const { reward, grade } = await play.verdict();
  const last = turns.at(-1);
  if (last) turns[turns.length - 1] = { ...last, reward: last.reward + grade };
  return { reward, end, turns, metrics: play.metrics(end, turns.length) };
}

class Play {
  readonly #messages: ChatMessage[];
  readonly #rewards: number[] = [];
  readonly #metrics: Metrics[] = [];
  readonly #counts = { env_steps: 0, refused: 0 };

  readonly episode: GuardedEpisode;
  readonly options: PlayOptions;

  constructor(episode: GuardedEpisode, options: PlayOptions) {
    this.episode = episode;
    this.options = options;
    this.#messages = opening(episode, options.systemPrompt);
  }

  /** Returns the sum of the rewards of the steps so far. */
  get earned(): number {
    return this.#rewards.reduce((sum, reward) => sum + reward, 0);
  }

  /**
   * Calls the model once, and executes the actions in its response. Returns the reason for the end
   * of the episode, or undefined if it continues.
   */
  async turn(model: Model): Promise<EpisodeEnd | undefined> {
    const response = await this.#ask(model);
    if (typeof response === 'string') return response;
    const tools = this.episode.tools ?? [];
    const { actionPattern, actionHint } = this.options;
    const actions = readActions(response, { actionPattern, actionHint, tools });
    const isCut = response.finishReason === 'length';
    if (isCut && !(actionPattern && actions.every((each) => 'action' in each)))
      return 'out_of_tokens';
    this.#messages.push(asMessage(response));
    const refused = actions.filter((each) => 'refusal' in each).length;
    for (const [index, each] of actions.entries()) {
      const more = actions.slice(index + 1).filter((later) => 'action' in later).length;
      const end = await this.#act(each, {
        ...(more > 0 && { more }),
        ...(refused > 0 && { refused }),
      });
      if (end !== undefined) return end;
    }
    return undefined;
  }

  /**
   * Calls the model and returns its response. Returns the reason for the end of the episode if the
   * conversation exceeds the context length, or the time limit is reached.
   */
  async #ask(model: Model): Promise<ChatResponse | EpisodeEnd> {
    const { options, episode } = this;
    // The first call does not return an `EpisodeEnd`. If it fails, the task itself is too long, or
    // the model does not respond.
    const isFirst = !this.#messages.some(({ role }) => role === 'assistant');
    const outOfTime = isFirst ? undefined : options.time?.over;
    if (outOfTime?.aborted) return this.#outOfTime();
    const { tools } = episode;
    const { signal } = options.chat;
    const either = outOfTime && signal ? AbortSignal.any([outOfTime, signal]) : signal;
    try {
      const chat = { ...options.chat, tools, signal: either };
      const [response] = await model.chat(this.#messages, chat);
      if (response === undefined) throw new InvariantError('The model returned no choice.');
      return response;
    } catch (error) {
      if (outOfTime?.aborted && signal?.aborted !== true) return this.#outOfTime();
      const isTooLong = error instanceof ModelError && error.code === 'context_length_exceeded';
      if (isTooLong && !isFirst) return 'out_of_tokens';
      throw error;
    }
  }

  /**
   * Returns the reason for the end of an episode that reached its time limit.
   * @throws EnvironmentError if at least half of the time was spent waiting for the environment
   */
  #outOfTime(): EpisodeEnd {
    const { time } = this.options;
    const waitedMs = this.episode.waitedMs();
    const elapsedMs = time?.elapsedMs() ?? Infinity;
    if (waitedMs < elapsedMs / 2) return 'out_of_time';
    throw new EnvironmentError(
      `The run waited ${(waitedMs / 1000).toFixed(1)} of ${(elapsedMs / 1000).toFixed(1)} s for the environment, so it had no time left for the policy (explorer.max_timeout).`,
      { code: 'ENVIRONMENT_SLOW' },
    );
  }

  async #act(
    read: ReadAction,
    beside: Pick<ToolAction, 'more' | 'refused'>,
  ): Promise<EpisodeEnd | undefined> {
    if ('refusal' in read) {
      this.#counts.refused++;
      this.#messages.push(asObservation(read.refusal, read.call));
      return undefined;
    }
    const { action } = read;
    const result = await this.episode.step(
      action.type === 'text' ? action : { ...action, ...beside },
    );
    this.#counts.env_steps++;
    if (result.refused === true) this.#counts.refused++;
    if (result.reward !== undefined) this.#rewards.push(result.reward);
    if (result.metrics) this.#metrics.push(result.metrics);
    if (result.done) return result.truncated === true ? 'truncated' : 'done';
    this.#messages.push(asObservation(result.observation, read.call));
    return undefined;
  }

  /**
   * Returns the reward of the whole episode, and the grade that is added to the reward of the last
   * turn.
   */
  async verdict(): Promise<{ readonly reward: number; readonly grade: number }> {
    const grade = await this.episode.grade();
    if (grade !== undefined) this.#rewards.push(grade);
    const reward = combineRewards(this.options.reward, this.#rewards);
    const { rewardThreshold = -Infinity } = this.options;
    return { reward: reward < rewardThreshold ? 0 : reward, grade: grade ?? 0 };
  }

  metrics(end: EpisodeEnd, turns: number): Metrics {
    return {
      ...meanMetrics(this.#metrics),
      ...this.#counts,
      turns,
      truncated: Number(end !== 'done'),
      out_of_turns: Number(end === 'out_of_turns'),
      out_of_tokens: Number(end === 'out_of_tokens'),
      out_of_time: Number(end === 'out_of_time'),
    };
  }
}
