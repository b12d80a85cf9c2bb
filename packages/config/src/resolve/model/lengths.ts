/** Resolves the maximum lengths of prompts and responses. */
import type { ModelConfig } from '../base/resolved.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import type { ModelShape } from './model-folder.js';

/** Lengths that a section sets, in tokens. Null for a length that is not set. */
export interface Lengths {
  readonly maxModelLen: number | null;
  readonly maxPromptTokens: number | null;
  readonly maxResponseTokens: number | null;
  readonly minResponseTokens: number;
}

export type CompleteLengths = Pick<
  ModelConfig,
  'maxModelLen' | 'maxPromptTokens' | 'maxResponseTokens' | 'minResponseTokens'
>;

/** Lengths that a section sets, with facts about its model. */
export interface LengthsInput {
  readonly section: KeyPath;
  readonly given: Lengths;
  readonly shape: ModelShape | undefined;
  /**
   * Maximum length of the trained model, for a section whose texts are trained on.
   * @default the positions of the model
   */
  readonly trained?: number;
  /**
   * False to not report a missing maximum length, because a problem with the model has already been
   * reported. @default true
   */
  readonly mayReport?: boolean;
  /**
   * True to only warn of a maximum length that is less than the sum of prompt and response.
   * @default false
   */
  readonly wholeDecides?: boolean;
}

/**
 * Completes the lengths. The default maximum length is the sum of the prompt and response lengths,
 * or the maximum of the model on disk if either is missing. If only the length of the prompt or of
 * the response is missing, the remainder is used. If both are missing, each gets half.
 */
export function deriveLengths(context: StageContext, input: LengthsInput): CompleteLengths {
  const { given, shape, mayReport = true } = input;
  const { maxPromptTokens: prompt, maxResponseTokens: response } = given;
  const whole =
    given.maxModelLen ??
    (prompt !== null && response !== null ? prompt + response : shape?.maxPositions);
  if (whole === undefined) {
    if (mayReport)
      reporter(context, input)(
        'max_model_len',
        'is not set, and no config.json on this disk says how long the texts of the model may be. Set it, or both max_prompt_tokens and max_response_tokens.',
      );
    return { maxModelLen: 2, maxPromptTokens: 1, maxResponseTokens: 1, minResponseTokens: 0 };
  }
  const complete = split(given, whole);
  const warn = input.wholeDecides === true ? warnOf(context, input) : undefined;
  checkLengths(complete, input, { report: reporter(context, input), warn });
  return complete;
}

function split(given: Lengths, whole: number): CompleteLengths {
  const { maxPromptTokens: prompt, maxResponseTokens: response, minResponseTokens } = given;
  const maxPromptTokens = prompt ?? (response === null ? Math.floor(whole / 2) : whole - response);
  const maxResponseTokens = response ?? whole - maxPromptTokens;
  return { maxModelLen: whole, maxPromptTokens, maxResponseTokens, minResponseTokens };
}

type ReportLength = (key: string, message: string) => void;

/**
 * Creates a function that reports a problem with a length. The report names all lengths and the
 * model in `uses`, because every check reads all of them.
 */
const reporter = (context: StageContext, { section }: LengthsInput): ReportLength => {
  const uses: readonly KeyPath[] = [
    [...section, 'max_model_len'],
    [...section, 'max_prompt_tokens'],
    [...section, 'max_response_tokens'],
    ['model', 'model_path'],
    ['model', 'max_model_len'],
  ];
  return (key, message) => context.report([...section, key], message, uses);
};

const warnOf =
  (context: StageContext, { section }: LengthsInput): ReportLength =>
  (key, message) =>
    context.warn([...section, key], message);

interface Reports {
  readonly report: ReportLength;
  /** Reports a sum that is too large, if that is no problem. */
  readonly warn: ReportLength | undefined;
}

function checkLengths(lengths: CompleteLengths, input: LengthsInput, reports: Reports): void {
  const { maxPromptTokens: prompt, maxResponseTokens: response, minResponseTokens } = lengths;
  if (minResponseTokens >= response && response >= 1)
    reports.report(
      'min_response_tokens',
      `got ${minResponseTokens}, expected less than max_response_tokens, which is ${response}.`,
    );
  if (lengths.maxModelLen > limitOf(input).tokens) return checkLimit(lengths, input, reports);
  if (response < 1 || prompt < 1) return checkRest(lengths, input, reports);
  checkSum(lengths, input, reports);
}

interface Limit {
  readonly tokens: number;
  /** Clause that says where the limit comes from. */
  readonly text: string;
  /** Another way out than lower lengths, with a leading comma; empty if there is none. */
  readonly instead: string;
}

/** Returns the maximum length of a text. */
function limitOf({ shape, trained }: LengthsInput): Limit {
  if (trained === undefined) {
    const tokens = shape?.maxPositions ?? Infinity;
    const text = `the model has positions for ${tokens}`;
    return { tokens, text, instead: ', or use another model' };
  }
  const text = `texts longer than model.max_model_len, ${trained}, cannot be trained on`;
  return { tokens: trained, text, instead: '' };
}

function checkLimit(lengths: CompleteLengths, input: LengthsInput, { report }: Reports): void {
  const { maxModelLen: whole, maxPromptTokens: prompt, maxResponseTokens: response } = lengths;
  const { maxModelLen, maxPromptTokens, maxResponseTokens } = input.given;
  const { tokens: limit, text, instead } = limitOf(input);
  const both = `max_prompt_tokens and max_response_tokens to ${limit} together${instead}.`;
  if (maxModelLen === null)
    return report(
      prompt > response ? 'max_prompt_tokens' : 'max_response_tokens',
      `${prompt} and ${response} tokens need sequences of ${whole}, but ${text}. Lower ${both}`,
    );
  const fits = maxPromptTokens === null && maxResponseTokens === null;
  report(
    'max_model_len',
    `asks for sequences of ${whole} tokens, but ${text}. Lower it to ${limit}${fits ? `${instead}.` : `, and ${both}`}`,
  );
}

/** Reports a length that leaves nothing for the other one, which is not set. */
function checkRest(lengths: CompleteLengths, input: LengthsInput, { report }: Reports): void {
  const { maxModelLen: whole, maxPromptTokens: prompt, maxResponseTokens: response } = lengths;
  const [key, length] =
    response < 1
      ? (['max_prompt_tokens', prompt] as const)
      : (['max_response_tokens', response] as const);
  const rest =
    input.given.maxModelLen === null
      ? `the ${whole} positions of the model for the rest. Lower it, or use another model.`
      : `max_model_len ${whole} for the rest. Lower it${length < limitOf(input).tokens ? ', or raise max_model_len' : ''}.`;
  report(key, `got ${length}, which leaves nothing of ${rest}`);
}

function checkSum(lengths: CompleteLengths, input: LengthsInput, { report, warn }: Reports): void {
  const { maxModelLen: whole, maxPromptTokens: prompt, maxResponseTokens: response } = lengths;
  const sum = prompt + response;
  const { tokens: limit, text } = limitOf(input);
  if (sum <= whole) return;
  if (warn !== undefined)
    return warn(
      'max_model_len',
      `${whole} is less than max_prompt_tokens ${prompt} and max_response_tokens ${response} together; a longer request of a workflow is refused.`,
    );
  const together = `to ${whole} together`;
  const fix =
    sum > limit
      ? `Lower them ${together}, because ${text}.`
      : `Raise it to ${sum}, or lower them ${together}.`;
  report(
    'max_model_len',
    `got ${whole}, but max_prompt_tokens ${prompt} and max_response_tokens ${response} need ${sum}. ${fix}`,
  );
}
