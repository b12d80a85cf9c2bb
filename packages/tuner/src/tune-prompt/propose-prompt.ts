/** Asks a model for a better system prompt. */
import { ModelError, type Random } from '@trinity-rft/core';
import type { AgentModel } from '@trinity-rft/workflow';
import type { Evaluation, RowReward } from './evaluate-prompt.js';

/** Writes better prompts. */
export type Proposer = Pick<AgentModel, 'chat'>;

const shownFailures = 4;
const shownPrompts = 5;
/** Maximum length of one task or response, in characters. */
const shownLength = 600;

interface ProposalOptions {
  readonly best: Evaluation;
  readonly tried: readonly Evaluation[];
  /** For choosing among rows of equal reward. */
  readonly random: Random;
  readonly signal: AbortSignal;
}

const instructions = `You improve the system prompt of an agent. You see its best prompt so far with the mean reward that it reached, tasks that it did
worst on, and other prompts with their rewards. Find out what the responses lack, and write one complete new system prompt, general
enough for tasks that you do not see; never answer the tasks, and never quote them. Write it between <prompt> and </prompt>.`;

/** @throws ModelError when the proposer fails or returns no text */
export async function proposePrompt(proposer: Proposer, options: ProposalOptions): Promise<string> {
  const question = [describeBest(options), ...describeOthers(options)].join('\n\n');
  const messages = [
    { role: 'system', content: instructions },
    { role: 'user', content: question },
  ] as const;
  const [answer] = await proposer.chat(messages, { signal: options.signal });
  const text = answer?.responseText ?? '';
  const prompt = (/<prompt>([\s\S]*?)<\/prompt>/.exec(text)?.[1] ?? text).trim();
  if (prompt === '')
    throw new ModelError('The proposer returned no prompt.', {
      status: 502,
      code: 'PROPOSAL_EMPTY',
      retryable: true,
    });
  return prompt;
}

function describeBest({ best, random }: ProposalOptions): string {
  const worst = random.shuffle(best.rows).toSorted((a, b) => a.reward - b.reward);
  const shown = worst.slice(0, shownFailures).map(describeRow).join('\n\n');
  return `Best prompt, mean reward ${best.reward.toFixed(3)}:\n${best.prompt}\n\nIts worst rows:\n${shown}`;
}

const describeRow = ({ task, response, reward }: RowReward): string =>
  `Task: ${cut(task)}\nResponse: ${cut(response)}\nReward: ${reward.toFixed(3)}`;

function describeOthers({ best, tried }: ProposalOptions): readonly string[] {
  const others = tried.filter((other) => other !== best).toSorted((a, b) => b.reward - a.reward);
  return others
    .slice(0, shownPrompts)
    .map(({ prompt, reward }) => `Another prompt, mean reward ${reward.toFixed(3)}:\n${prompt}`);
}

const cut = (value: unknown): string =>
  (typeof value === 'string' ? value : (JSON.stringify(value) ?? '')).slice(0, shownLength);
