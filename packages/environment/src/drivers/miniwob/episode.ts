/** An episode that plays one task on one browser page. */
import type { CDPSession, Page } from 'playwright-core';
import { z } from 'zod';
import type { Action, Episode, StepResult } from '../../seam/types.js';
import { broken } from '../../waiting/within.js';
import { type NumberedTree, numberTree, treeSchema } from './accessibility.js';
import { type Command, instructions, readCommand } from './commands.js';

/** Calls `work` with a deadline. `what` names the work in error messages. */
export type Within = <T>(what: string, work: () => Promise<T>, signal: AbortSignal) => Promise<T>;

export interface OpenPage {
  readonly page: Page;
  readonly session: CDPSession;
  readonly task: string;
}

/**
 * CSS selector of elements that are hidden from the policy: the score, the clock, and the goal,
 * which the prompt already contains.
 */
const hidden = '#reward-display, #click-canvas, #query, #sync-task-cover';

/**
 * Starts the task of the page and returns its goal.
 * @throws EnvironmentError if the page states no goal
 */
export async function startTask({ page, task }: OpenPage, seed: number): Promise<string> {
  const start = `(() => {
    Math.seedrandom(${seed});
    core.EPISODE_MAX_TIME = 1e9;
    core.startEpisodeReal();
    for (const element of document.querySelectorAll('${hidden}'))
      element.setAttribute('aria-hidden', 'true');
    const said = core.getUtterance();
    return typeof said === 'string' ? said : said.utterance;
  })()`;
  const goal: unknown = await page.evaluate(start);
  if (typeof goal === 'string' && goal !== '') return goal;
  throw broken('ENVIRONMENT_ANSWER', `The page of ${task} says no goal.`);
}

export async function miniwobEpisode(
  open: OpenPage,
  goal: string,
  within: Within,
  end: () => Promise<void>,
): Promise<Episode> {
  let tree = await readTree(open);
  return {
    observation: `Goal: ${goal}\n\n${tree.text}`,
    instructions,
    step: async (action, signal) => {
      const command = toCommand(action, tree);
      if (typeof command === 'string') return { observation: command, done: false, refused: true };
      return within(
        'step',
        async () => {
          const refusal = await act(open, command, tree);
          if (refusal !== undefined) return { observation: refusal, done: false, refused: true };
          const { isDone, reward } = await readVerdict(open);
          tree = await readTree(open);
          return isDone
            ? { observation: '', reward, done: true }
            : ({ observation: tree.text, done: false } satisfies StepResult);
        },
        signal,
      );
    },
    // The score that the page itself gives when the time is up.
    grade: async () => -1,
    close: end,
  };
}

async function readTree({ session }: OpenPage): Promise<NumberedTree> {
  return numberTree(treeSchema.parse(await session.send('Accessibility.getFullAXTree')).nodes);
}

/**
 * Parses an action.
 * @returns the command, or a message for the policy that says why the action is invalid
 */
function toCommand(action: Action, { elements }: NumberedTree): Command | string {
  const command = action.type === 'text' ? readCommand(action.text) : undefined;
  if (command === undefined)
    return 'That is no action. Write click(3), fill(4, "text"), select(5, "option") or press("Enter").';
  if (command.type !== 'press' && elements[command.element - 1] === undefined)
    return `There is no element ${command.element}.`;
  return command;
}

/**
 * Executes a command on the page.
 * @returns undefined, or a message for the policy that says why the command cannot be executed
 */
async function act(
  open: OpenPage,
  command: Command,
  { elements }: NumberedTree,
): Promise<string | undefined> {
  const { page } = open;
  if (command.type === 'press') return pressKey(page, command.key);
  const element = elements[command.element - 1] ?? 0;
  if (command.type === 'select') {
    const chosen = await callOn(open, element, choose, command.text);
    return chosen === true ? undefined : `Element ${command.element} has no such option.`;
  }
  const place = placeSchema.safeParse(await callOn(open, element, locate));
  if (!place.success) return `Element ${command.element} is not on the page any more.`;
  await page.mouse.click(place.data.x, place.data.y);
  if (command.type === 'click') return undefined;
  await page.keyboard.press('ControlOrMeta+A');
  await page.keyboard.press('Delete');
  await page.keyboard.type(command.text);
  return undefined;
}

async function pressKey(page: Page, key: string): Promise<string | undefined> {
  try {
    await page.keyboard.press(key);
    return undefined;
  } catch (error) {
    if (/Unknown key/.test((error as Error).message)) return `There is no key "${key}".`;
    throw error;
  }
}

const placeSchema = z.object({ x: z.number(), y: z.number() });

/**
 * JavaScript function that scrolls an element or text into view and returns the coordinates of its
 * centre, or null if it is no longer on the page.
 */
const locate = `function () {
  if (!this.isConnected) return null;
  (this.nodeType === 1 ? this : this.parentElement).scrollIntoView({ block: 'nearest' });
  const range = document.createRange();
  range.selectNode(this);
  const box = this.nodeType === 1 ? this.getBoundingClientRect() : range.getBoundingClientRect();
  return { x: box.x + box.width / 2, y: box.y + box.height / 2 };
}`;

const choose = `function (text) {
  const option = [...(this.options ?? [])].find((each) => each.text.trim() === text.trim());
  if (option === undefined) return false;
  this.value = option.value;
  this.dispatchEvent(new Event('input', { bubbles: true }));
  this.dispatchEvent(new Event('change', { bubbles: true }));
  return true;
}`;

/** Calls a JavaScript function on the page, with an element as `this`. */
async function callOn(
  { session }: OpenPage,
  backendNodeId: number,
  functionDeclaration: string,
  ...given: readonly string[]
): Promise<unknown> {
  const { object } = await session.send('DOM.resolveNode', { backendNodeId });
  const { result, exceptionDetails } = await session.send('Runtime.callFunctionOn', {
    objectId: object.objectId,
    functionDeclaration,
    arguments: given.map((value) => ({ value })),
    returnByValue: true,
  });
  if (exceptionDetails === undefined) return result.value;
  throw broken('ENVIRONMENT_ANSWER', `The page failed: ${exceptionDetails.text}.`);
}

const verdictSchema = z.object({ isDone: z.boolean(), reward: z.number() });

/**
 * Reads from the page whether the episode is over, and the raw reward. The page's default reward is
 * not used, because it decreases with the time that the model takes.
 * @throws EnvironmentError if the reward is not a number
 */
async function readVerdict({ page, task }: OpenPage): Promise<z.infer<typeof verdictSchema>> {
  const state: unknown = await page.evaluate(
    '({ isDone: WOB_DONE_GLOBAL, reward: WOB_RAW_REWARD_GLOBAL })',
  );
  const read = verdictSchema.safeParse(state);
  if (read.success) return read.data;
  throw broken('ENVIRONMENT_NO_VERDICT', `The page of ${task} gave no reward as a number.`);
}
