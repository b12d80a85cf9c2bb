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
  const maxPromptTokens = prompt ?? (response === null ? Math.floor(whole / 2) : whole - response);
  const maxResponseTokens = response ?? whole - maxPromptTokens;
  const { minResponseTokens } = given;
  const complete = { maxModelLen: whole, maxPromptTokens, maxResponseTokens, minResponseTokens };
  checkSum(
    complete,
    input,
    reporter(context, input),
    input.wholeDecides === true ? warnOf(context, input) : undefined,
  );
  checkBounds(complete, input, reporter(context, input));
  return complete;
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
  ];
  return (key, message) => context.report([...section, key], message, uses);
};

const warnOf =
  (context: StageContext, { section }: LengthsInput): ReportLength =>
  (key, message) =>
    context.warn([...section, key], message);

function checkSum(
  lengths: CompleteLengths,
  { given, shape }: LengthsInput,
  report: ReportLength,
  warn: ReportLength | undefined,
): void {
  const { maxModelLen: whole, maxPromptTokens: prompt, maxResponseTokens: response } = lengths;
  const sum = prompt + response;
  const positions = shape?.maxPositions ?? Infinity;
  const noRest =
    given.maxModelLen === null
      ? `which leaves nothing of the ${whole} positions of the model for the rest. Lower it, or use another model.`
      : `which leaves nothing of max_model_len ${whole} for the rest. Lower it, or raise max_model_len.`;
  if (response < 1) report('max_prompt_tokens', `got ${prompt}, ${noRest}`);
  else if (prompt < 1) report('max_response_tokens', `got ${response}, ${noRest}`);
  else if (sum > whole && warn !== undefined)
    warn(
      'max_model_len',
      `${whole} is less than max_prompt_tokens ${prompt} and max_response_tokens ${response} together; a longer request of a workflow is refused.`,
    );
  else if (sum > whole)
    report(
      'max_model_len',
      `got ${whole}, but max_prompt_tokens ${prompt} and max_response_tokens ${response} need ${sum}. ${sum > positions ? `The model has positions for ${positions}: lower them` : `Raise it to ${sum}, or lower one of them`}.`,
    );
}

function checkBounds(
  { maxModelLen: whole, maxPromptTokens, maxResponseTokens, minResponseTokens }: CompleteLengths,
  { given, shape }: LengthsInput,
  report: ReportLength,
): void {
  if (minResponseTokens >= maxResponseTokens && maxResponseTokens >= 1)
    report(
      'min_response_tokens',
      `got ${minResponseTokens}, expected less than max_response_tokens, which is ${maxResponseTokens}.`,
    );
  const positions = shape?.maxPositions ?? Infinity;
  if (whole <= positions) return;
  const tooFew = `but the model has positions for ${positions}.`;
  if (given.maxModelLen !== null)
    return report(
      'max_model_len',
      `asks for sequences of ${whole} tokens, ${tooFew} Lower it to ${positions}, or use another model.`,
    );
  const parts = [
    ['max_prompt_tokens', maxPromptTokens],
    ['max_response_tokens', maxResponseTokens],
  ] as const;
  const [[key, larger], [otherKey, other]] =
    maxPromptTokens > maxResponseTokens ? parts : ([parts[1], parts[0]] as const);
  const lower = other < positions ? `it to ${positions - other}` : `both, to ${positions} together`;
  report(
    key,
    `got ${larger}, which needs sequences of ${whole} tokens with ${otherKey} ${other}, ${tooFew} Lower ${lower}, or use another model.`,
  );
}
