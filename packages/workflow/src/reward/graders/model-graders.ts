/**
 * `score_model` and `label_model`: graders in which another model reads the answer and returns a
 * number or a label.
 */
import { ConfigError, describeError } from '@trinity-rft/core';
import { redactText, tryJson } from '@trinity-rft/core/support';
import { graderFault } from './fault.js';
import type { PartSpec } from './schema.js';
import { parseTemplate, type Namespaces, type Template } from './template.js';

type ScoreModel = Extract<PartSpec, { readonly type: 'score_model' }>;
type LabelModel = Extract<PartSpec, { readonly type: 'label_model' }>;

/** Body of the chat completion request that a grader sends, without the field `model`. */
export interface GraderModelRequest {
  readonly messages: {
    readonly role: 'user' | 'assistant' | 'system' | 'developer';
    readonly content: string;
  }[];
  /** Required format of the response: a JSON object with the field `result`. */
  readonly response_format: {
    readonly type: 'json_schema';
    readonly json_schema: { readonly name: string; readonly schema: Record<string, unknown> };
  };
  readonly max_completion_tokens?: number;
  readonly reasoning_effort?: 'none' | 'minimal' | 'low' | 'medium' | 'high' | 'xhigh' | 'max';
  readonly seed?: number;
  readonly temperature?: number;
  readonly top_p?: number;
}

/** Token usage of a grader, summed over all its calls to one model. */
export interface GraderUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
}

/** Response of a model to a {@link GraderModelRequest}. */
export interface GraderModelAnswer {
  readonly text: string;
  /** Token usage of the call. @default undefined: usage is unknown */
  readonly usage?: GraderUsage | undefined;
  /**
   * Message with which the model refuses to respond.
   * @default undefined: the model does not refuse
   */
  readonly refusal?: string | null | undefined;
}

/**
 * Sends a request to the model named `model`. Errors of this function count as failures of the
 * grader, except a ConfigError, which is rethrown.
 */
export type CompleteFn = (
  model: string,
  request: GraderModelRequest,
  signal: AbortSignal,
) => Promise<GraderModelAnswer>;

export interface ModelCall {
  readonly values: Namespaces;
  readonly signal: AbortSignal;
  readonly onUsage: (model: string, usage: GraderUsage) => void;
}

type Ask = (call: ModelCall) => Promise<number>;

/**
 * Creates a grader whose score is the number that the model returns. A number outside of `range` is
 * a failure.
 */
export function scoreModelGrader(spec: ScoreModel, complete: CompleteFn): Ask {
  const [low, high] = spec.range;
  const description = `A number from ${low} to ${high}.`;
  const ask = questionOf(spec, { type: 'number', description }, complete);
  return async (call) => {
    const { result, text } = await ask(call);
    if (typeof result === 'number' && result >= low && result <= high) return result;
    throw unreadable(spec, text, `{"result": a number from ${low} to ${high}}`);
  };
}

/**
 * Creates a grader that returns 1 if the label that the model chooses is a passing label, else 0.
 * The grader fails if the model returns an unknown label.
 */
export function labelModelGrader(spec: LabelModel, complete: CompleteFn): Ask {
  const ask = questionOf(spec, { type: 'string', enum: spec.labels }, complete);
  return async (call) => {
    const { result, text } = await ask(call);
    if (typeof result === 'string' && spec.labels.includes(result))
      return Number(spec.passing_labels.includes(result));
    throw unreadable(spec, text, `{"result": one of ${spec.labels.join(', ')}}`);
  };
}

/**
 * Schema of the response's field for reasoning. OpenAI's service has this field too, so prompts may
 * refer to it.
 */
const steps = {
  type: 'array',
  items: {
    type: 'object',
    properties: { description: { type: 'string' }, conclusion: { type: 'string' } },
    required: ['description', 'conclusion'],
  },
};

function questionOf(spec: ScoreModel | LabelModel, result: object, complete: CompleteFn) {
  const messages = spec.input.map(({ role, content }) => ({ role, content: textOf(content) }));
  const schema = { type: 'object', properties: { steps, result }, required: ['result'] };
  const rest: Omit<GraderModelRequest, 'messages'> = {
    response_format: { type: 'json_schema', json_schema: { name: 'grade', schema } },
    ...samplingOf(spec),
  };
  return async ({ values, signal, onUsage }: ModelCall) => {
    const filled = messages.map(({ role, content }) => ({ role, content: content(values) }));
    const answer = await completed(spec, signal, () =>
      complete(spec.model, { messages: filled, ...rest }, signal),
    );
    const { text, usage, refusal } = answer;
    if (usage) onUsage(spec.model, usage);
    if (refusal)
      throw graderFault(
        'model_grader_refusal_error',
        `The model "${spec.model}" of the grader "${spec.name}" refused: ${shorten(refusal)}`,
      );
    const { result: given } = (tryJson(text) ?? {}) as { readonly result?: unknown };
    return { result: given, text };
  };
}

type Content = ScoreModel['input'][number]['content'];

/** Returns a template for the content of a message, whose text parts are joined by line breaks. */
function textOf(content: Content): Template {
  const list = Array.isArray(content) ? content : [content];
  const texts = list.map((one) => parseTemplate(typeof one === 'string' ? one : one.text));
  return (values) => texts.map((text) => text(values)).join('\n');
}

function samplingOf(spec: ScoreModel | LabelModel): Partial<GraderModelRequest> {
  if (spec.type === 'label_model') return {};
  const { max_completions_tokens, ...others } = spec.sampling_params ?? {};
  const given = { max_completion_tokens: max_completions_tokens, ...others };
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value != null));
}

async function completed(
  { name, model }: ScoreModel | LabelModel,
  signal: AbortSignal,
  work: () => Promise<GraderModelAnswer>,
): Promise<GraderModelAnswer> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof ConfigError) throw error;
    const reason = redactText(describeError(error));
    throw graderFault(
      'model_grader_server_error',
      `The model "${model}" of the grader "${name}" failed: ${reason}`,
      reason,
    );
  }
}

const unreadable = ({ name, model }: ScoreModel | LabelModel, text: string, expected: string) =>
  graderFault(
    'model_grader_parse_error',
    `The model "${model}" of the grader "${name}" answered ${JSON.stringify(shorten(text))}; expected ${expected}.`,
  );

const longestShown = 200;
const shorten = (text: string): string =>
  text.length > longestShown ? `${text.slice(0, longestShown)}...` : text;
