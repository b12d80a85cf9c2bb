/** Asks a model to rewrite one of the agent's texts, based on the agent's results on some rows. */
import { ModelError } from '@trinity-rft/core';
import type { AgentModel } from '@trinity-rft/workflow';
import { shortText, type Components, type Played } from './play-rows.js';

/** Model that rewrites texts. */
export type Proposer = Pick<AgentModel, 'chat'>;

const instructions = `You improve the texts that an agent is given. You see one of them, and tasks with the agent's responses, their rewards, and feedback.
Find out which rules the feedback implies and what the responses lack, keep what already works, and write the whole text anew, general
enough for tasks that you do not see; never answer the tasks, and never quote them. Write it between <prompt> and </prompt>.`;

interface Proposal {
  readonly components: Components;
  /** Name of the text to rewrite. */
  readonly component: string;
  readonly played: readonly Played[];
  readonly signal: AbortSignal;
}

/**
 * Asks the proposer to rewrite one of the agent's texts, and returns the new text.
 * @throws ModelError if the proposer fails, or its response contains no new text
 */
export async function proposeText(
  proposer: Proposer,
  { components, component, played, signal }: Proposal,
): Promise<string> {
  const others = Object.entries(components).filter(([name]) => name !== component);
  const question = [
    `The text "${component}":\n${components[component]}`,
    ...others.map(([name, text]) => `Stays as it is, "${name}":\n${text}`),
    ...played.map(describeRow),
  ].join('\n\n');
  const messages = [
    { role: 'system', content: instructions },
    { role: 'user', content: question },
  ] as const;
  const [answer] = await proposer.chat(messages, { signal });
  const text = answer?.responseText ?? '';
  const written = (/<prompt>((?:(?!<prompt>)[\s\S])*?)<\/prompt>/.exec(text)?.[1] ?? text).trim();
  if (written === '')
    throw new ModelError('The proposer returned no prompt.', {
      status: 502,
      code: 'PROPOSAL_EMPTY',
      retryable: true,
    });
  return written;
}

function describeRow({ task, response, reward, feedback }: Played): string {
  const lines = [`Task: ${shortText(task)}`, `Response: ${response}`];
  lines.push(reward === undefined ? 'It failed.' : `Reward: ${reward.toFixed(3)}`);
  if (feedback !== undefined) lines.push(`Feedback: ${shortText(feedback)}`);
  return lines.join('\n');
}
