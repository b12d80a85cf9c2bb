/**
 * Plays episodes with the environment's solver, and converts them to conversations that a model can
 * imitate.
 */
import type { ChatMessage, RawTask, ToolDefinition } from '@trinity-rft/core';
import type { EnvironmentDefinition } from '../seam/define.js';
import type { Action } from '../seam/types.js';
import { written } from './action-format.js';
import type { GuardedEpisode } from './guarded-episode.js';
import { asMessage, asObservation, opening } from './messages.js';
import { playPolicy } from './play-policy.js';

/** An episode played by the solver. */
export interface Demonstration {
  /**
   * Conversation of the episode, with the solver's actions as the model's messages. The system
   * prompt is first.
   */
  readonly messages: readonly ChatMessage[];
  /** Tools of the episode; undefined if the episode has no tools. */
  readonly tools: readonly ToolDefinition[] | undefined;
  /** Reward of the episode under the environment's rule, including the grade. */
  readonly reward: number;
  readonly steps: number;
  /**
   * True if the episode ended, because of the environment or the turn limit, before the solver was
   * done.
   */
  readonly isTruncated: boolean;
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
 * @param episode an episode that was started with the row and seed in the options
 */
export async function demonstrate(
  episode: GuardedEpisode,
  { definition, args, row, seed, maxTurns }: DemonstrateOptions,
): Promise<Demonstration> {
  const { reward: rule, actionFormat } = definition.play;
  const solver = definition.solver?.({ row, seed }, args) ?? (() => undefined);
  const played = await playPolicy(episode, solver, { maxTurns, reward: rule });
  const messages = opening(episode);
  for (const [index, { action, result }] of played.steps.entries()) {
    const said = asAnswer(action, actionFormat, index);
    messages.push(said);
    // The conversation ends with the solver's last message.
    if (index < played.steps.length - 1)
      messages.push(asObservation(result.observation, said.tool_calls?.[0]));
  }
  const { steps, reward, isTruncated } = played;
  return { messages, tools: episode.tools, reward, steps: steps.length, isTruncated };
}

/** Returns the assistant message with which a model would take an action. */
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
