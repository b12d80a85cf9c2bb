/**
 * Attempts at household tasks for RAFT (reward-ranked fine-tuning), which trains only on successful
 * attempts.
 */
import { type Experience, withFields } from '@trinity-rft/core';
import { instructions } from '../worlds/household/instructions.js';

/** Plays the task once, with the given system prompt, and returns the experiences. */
type Attempt = (systemPrompt?: string) => Promise<readonly Experience[]>;

interface AttemptContext {
  /**
   * System prompt from the task set.
   * @default the workflow's system prompt
   */
  readonly given?: string;
  /** Returns the time that is left for all attempts, in ms, or undefined for no limit. */
  readonly timeLeft: () => number | undefined;
}

/** Makes the attempts at a task and returns the experiences of one of them. */
export type Attempts = (
  attempt: Attempt,
  context: AttemptContext,
) => Promise<readonly Experience[]>;

/** Returns a regular expression for text up to and including `end`, without `other` in it. */
const upTo = (end: string, other: string): string => `(?:(?!${other}|${end})[\\s\\S])*${end}`;

/** Regular expression for what the model knows about similar tasks, and text up to its thoughts. */
const opening = `<experience>\\s*\\S${['</experience>', '<think>'].map((end) => upTo(end, '<experience>')).join('')}`;

/**
 * Regular expression for a response: what the model knows about similar tasks, its thoughts, and
 * the action, each in tags. Each part can end in only one place and contains no opening of another
 * response, so matching takes linear time even if a response repeats a part. The thoughts and the
 * action may mention a tag.
 */
export const threeTags = [
  `${opening}\\s*\\S${upTo('</think>', opening)}`,
  upTo('<action>', opening),
  `((?:(?!${opening}|</action>)[\\s\\S])*)</action>`,
].join('');

const ownPrompt = `${instructions}
Before the command, write what you know about tasks of this kind as <experience>...</experience>, and what you think as <think>...</think>.`;

/**
 * Makes one attempt. The attempt is trained on only if it succeeds, all responses have the required
 * format, and no action occurs three times in a row.
 */
export const oneAttempt: Attempts = async (attempt, { given = ownPrompt }) => {
  const first = await attempt(given);
  return isGood(first) ? first : untrained(first);
};

/** Minimum share of the time before the first attempt that must be left to start the second. */
const leastShare = 0.2;

/**
 * Makes a second attempt if the first fails and enough time is left. The prompt of the second
 * attempt contains the responses of the first. The second attempt is trained on only if it
 * succeeds, and has a higher reward or fewer turns than the first.
 */
export const twoAttempts: Attempts = async (attempt, { given = ownPrompt, timeLeft }) => {
  const atFirst = timeLeft();
  const first = await attempt(given);
  if (isGood(first)) return first;
  const left = timeLeft() ?? Infinity;
  if (atFirst !== undefined && left < leastShare * atFirst) return untrained(first);
  const second = await attempt(`${given}\n\n${lookBack(first)}`);
  const isBetter = rewardOf(second) > rewardOf(first) || second.length < first.length;
  return isGood(second) && isBetter ? second : untrained(second);
};

const rewardOf = (turns: readonly Experience[]): number => turns.at(-1)?.reward ?? 0;

/**
 * Returns true if the goal was reached, each response has its three parts, and no action occurs
 * three times in a row.
 */
function isGood(turns: readonly Experience[]): boolean {
  const actions = turns.map(({ responseText = '' }) =>
    [...responseText.matchAll(new RegExp(threeTags, 'g'))].at(-1)?.[1]?.trim(),
  );
  const isStuck = actions.some(
    (action, turn) => turn >= 2 && action === actions[turn - 1] && action === actions[turn - 2],
  );
  return rewardOf(turns) >= 1 && !isStuck && actions.every((action) => action !== undefined);
}

/**
 * Returns copies with reward 0 and an action mask of zeros. The copies count in metrics but are not
 * trained on.
 */
const untrained = (turns: readonly Experience[]): readonly Experience[] =>
  turns.map((turn) =>
    withFields(turn, { reward: 0, actionMask: new Uint8Array(turn.actionMask.length) }),
  );

function lookBack(turns: readonly Experience[]): string {
  const answers = turns.map(({ responseText = '' }, turn) => `${turn + 1}. ${responseText}`);
  return `You tried this task before and did not finish it. Your answers were:
${answers.join('\n')}
Do better: keep what helped as experience, and do not repeat yourself. Do not mention the first attempt.`;
}
