/** An episode that is played over a connection to an OpenEnv server. */
import type { ToolDefinition } from '@trinity-rft/core';
import type { Action, Episode, StepResult, ToolAction } from '../../seam/types.js';
import { broken, shorten } from '../../waiting/within.js';
import type { ActionForm } from './action-form.js';
import type { OpenenvArgs } from './args.js';
import { type Connection, wrongAnswer } from './connection.js';
import type { Begun } from './connections.js';
import type { Answer, ObservationData, ProblemData } from './messages.js';
import { isErrorResult, renderObservation, renderResult } from './rendering.js';

export interface EpisodeOptions {
  readonly begun: Begun;
  readonly form: ActionForm;
  readonly args: OpenenvArgs;
  readonly observation: string;
  readonly instructions: string | undefined;
  /** Tools of the episode; undefined if it has none. */
  readonly tools: readonly ToolDefinition[] | undefined;
}

export function openenvEpisode(options: EpisodeOptions): Episode {
  const { begun, form, args, observation, instructions, tools } = options;
  const { connection } = begun;
  const { url } = args;
  let [isOpen, isInStep, hasReward] = [true, true, false];

  const ask = (message: Parameters<Connection['ask']>[0], signal: AbortSignal): Promise<Answer> =>
    connection.ask(message, { ms: args.timeout * 1000, signal, phase: 'step' });

  /**
   * Checks that responses still match requests. After a missing or extra response, every later
   * response would be taken for that of another request.
   */
  async function checkOrder(signal: AbortSignal): Promise<void> {
    const { type } = await ask({ type: 'state' }, signal);
    if (type === 'observation') throw wrongAnswer(url, 'state', type);
    isInStep = true;
  }

  async function step(action: Action, signal: AbortSignal): Promise<StepResult> {
    const data = actionData(action, form, args);
    if ('refusal' in data) return { observation: data.refusal, done: false, refused: true };
    isInStep = false;
    const answer = await ask({ type: 'step', data: data.value }, signal);
    if (answer.type === 'state') throw wrongAnswer(url, 'step', answer.type);
    if (answer.type === 'error') return refusalOf(answer.data, url, 'step');
    const result = resultOf(answer.data, args, action.type);
    hasReward ||= result.reward !== undefined;
    if (!result.done) return result;
    await checkOrder(signal);
    if (!hasReward && result.truncated !== true) throw noVerdict(url, answer.data);
    return result;
  }

  return {
    observation,
    instructions,
    tools,
    step,
    // The rewards of the steps are all that a server gives.
    grade: async (signal) => {
      await checkOrder(signal);
      return undefined;
    },
    close: async () => {
      if (isOpen) begun.end(isInStep);
      isOpen = false;
    },
  };
}

type ActionData = { readonly value: unknown } | { readonly refusal: string };

function actionData(action: Action, form: ActionForm, args: OpenenvArgs): ActionData {
  if (form.type === 'tools') {
    const sent = action.type === 'tool' ? toolCall(action) : { message: action.text };
    if (action.type === 'text' && !form.takesText) return { refusal: 'Call one of the tools.' };
    return { value: { ...args.action, ...sent } };
  }
  if (action.type === 'tool') return { refusal: 'There are no tools here: write the action.' };
  const value = fieldValue(action.text, form.valueType);
  if (value === undefined) return { refusal: `The action must be a number, not "${action.text}".` };
  return { value: { ...args.action, [form.field]: value } };
}

const toolCall = ({ name, arguments: given }: ToolAction) => ({
  type: 'call_tool',
  tool_name: name,
  arguments: given,
});

function fieldValue(text: string, type: string): string | number | undefined {
  if (type !== 'integer' && type !== 'number') return text;
  const value = text.trim() === '' ? NaN : Number(text);
  return Number.isFinite(value) && (type === 'number' || Number.isInteger(value))
    ? value
    : undefined;
}

/**
 * Converts a response to the result of a step. Responses to text actions and to tool calls have
 * different fields.
 */
function resultOf(data: ObservationData, args: OpenenvArgs, type: Action['type']): StepResult {
  const { observation, reward, done } = data;
  if (reward !== undefined && !Number.isFinite(reward)) throw noVerdict(args.url, data);
  const error = toolError(observation['error']);
  if (error !== undefined && reward === undefined && done) throw noVerdict(args.url, data);
  if (error !== undefined && serverErrors.has(error.type)) throw failed(args.url, error);
  const { refused: isRefused, truncated } = flagsOf(observation);
  if (type === 'text') {
    const text = renderObservation(observation, args.observation_fields);
    return { observation: text, reward, done, refused: isRefused, truncated };
  }
  const refused = isRefused || error !== undefined || isErrorResult(observation['result']);
  const text = error?.message ?? renderResult(observation['result']);
  return { observation: text, reward, done, refused, truncated };
}

/** Returns the flags `refused` and `truncated`, which `serveEnvironment` adds to the metadata. */
function flagsOf({ metadata }: ObservationData['observation']) {
  const { refused, truncated } = (metadata ?? {}) as Readonly<Record<string, unknown>>;
  return { refused: refused === true, truncated: truncated === true };
}

/** Types of tool errors that the policy did not cause. */
const serverErrors: ReadonlySet<string> = new Set(['transport_error', 'timeout']);

function toolError(
  error: unknown,
): { readonly type: string; readonly message: string } | undefined {
  if (error == null || error === '') return undefined;
  if (typeof error !== 'object') return { type: 'error', message: JSON.stringify(error) };
  const { error_type: type, message } = error as Readonly<Record<string, unknown>>;
  return {
    type: typeof type === 'string' ? type : 'error',
    message: typeof message === 'string' ? message : JSON.stringify(error),
  };
}

/**
 * Returns a refused step that tells the policy why a value in its action is invalid.
 * @throws EnvironmentError for problems that the policy did not cause, such as a missing field
 */
function refusalOf(problem: ProblemData, url: string, request: string): StepResult {
  const { code, errors } = problem;
  const ofValue = errors.length > 0 && errors.every(({ type }) => !shapeErrors.has(type));
  if (code !== 'VALIDATION_ERROR' || !ofValue) throw serverError(url, request, problem);
  const why = errors.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`).join('; ');
  return { observation: `The action is not valid: ${why}.`, done: false, refused: true };
}

const shapeErrors: ReadonlySet<string> = new Set(['missing', 'extra_forbidden']);

export function serverError(url: string, request: string, problem: ProblemData) {
  const details = problem.errors.map(({ loc, msg }) => `${loc.join('.')}: ${msg}`);
  const why = [`${problem.code}: ${problem.message}`, ...details].join('; ');
  return broken(
    'ENVIRONMENT_SERVER',
    `${url} answered "${request}" with ${shorten(why)}. See the server's log; fields of actions and resets are set in environment_args.`,
  );
}

const failed = (url: string, error: { readonly type: string; readonly message: string }) =>
  broken(
    'ENVIRONMENT_SERVER',
    `${url} could not take a step (${error.type}): ${shorten(error.message)}. See the server's log.`,
  );

const noVerdict = (url: string, { observation }: ObservationData) =>
  broken(
    'ENVIRONMENT_NO_VERDICT',
    `${url} ended the episode without a reward${observation['error'] == null ? '' : `, and with the error ${shorten(JSON.stringify(observation['error']))}`}. See the log of its grader.`,
  );
