/** Plays episodes with the environment's solver and returns them as conversations to imitate. */
import type { ChatMessage, RawTask, ToolDefinition } from '@trinity-rft/core';
import type { EnvironmentDefinition } from '../seam/define.js';
import type { Action, StepResult } from '../seam/types.js';
import { written } from './action-format.js';
import type { GuardedEpisode } from './guarded-episode.js';
import { asMessage, asObservation, opening } from './messages.js';

/** An episode played by the solver. */
export interface Demonstration {
  /** The conversation as a model would have had it, with the system prompt first. */
  readonly messages: readonly ChatMessage[];
  /** Tools of the episode; undefined if the episode has no tools. */
  readonly tools: readonly ToolDefinition[] | undefined;
  /** Sum of the rewards. */
  readonly reward: number;
  readonly steps: number;
  readonly isDone: boolean;
}

interface DemonstrateOptions {
  readonly definition: EnvironmentDefinition;
  readonly args: Readonly<Record<string, unknown>>;
  readonly row: RawTask;
  readonly seed: number;
  readonly maxTurns: number;
}

/**
 * Plays an episode with the solver.
 * @param episode an episode that began with the row and seed of the options
 */
export async function demonstrate(
  episode: GuardedEpisode,
  { definition, args, row, seed, maxTurns }: DemonstrateOptions,
): Promise<Demonstration> {
  const { tools } = episode;
  const messages = opening(episode);
  const solver = definition.solver?.({ row, seed }, args);
  let seen: Pick<StepResult, 'observation' | 'done'> = {
    observation: episode.observation,
    done: false,
  };
  let [reward, steps] = [0, 0];
  while (!seen.done && steps < maxTurns) {
    const action = solver?.(seen.observation);
    if (action === undefined) break;
    const said = asAnswer(action, definition.play.actionFormat, steps);
    messages.push(said);
    const result = await episode.step(action);
    reward += result.reward ?? 0;
    steps++;
    seen = result;
    if (!result.done) messages.push(asObservation(result.observation, said.tool_calls?.[0]));
  }
  return { messages, tools, reward, steps, isDone: seen.done };
}

/** Returns the assistant message of a model that takes this action. */
function asAnswer(action: Action, format: string | undefined, step: number): ChatMessage {
  if (action.type === 'text')
    return asMessage({ responseText: written(action.text, format), toolCalls: [] });
  const { name, arguments: given } = action;
  const call = {
    id: `call_${step}`,
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  } as const;
  return asMessage({ responseText: '', toolCalls: [call] });
}
