/** The longest prompt and response of a model. */
import type { ModelConfig } from '../base/resolved.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import type { ModelShape } from './model-folder.js';

/** Lengths that a section sets, in tokens; null = not set. */
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

/**
 * Completes the lengths: the whole is the sum of its parts, else what the model on disk allows; a
 * missing part is the remainder; two missing parts get half each.
 */
export function deriveLengths(
  context: StageContext,
  section: KeyPath,
  given: Lengths,
  shape: ModelShape | undefined,
  /** False when the model was not found, which is reported already. */
  mayReport = true,
): CompleteLengths {
  const at = (key: string): KeyPath => [...section, key];
  const uses = [
    at('max_model_len'),
    at('max_prompt_tokens'),
    at('max_response_tokens'),
    ['model', 'model_path'],
  ];
  const { maxPromptTokens: prompt, maxResponseTokens: response } = given;
  const whole =
    given.maxModelLen ??
    (prompt !== null && response !== null ? prompt + response : shape?.maxPositions);
  if (whole === undefined) {
    if (mayReport) {
      const message =
        'is not set, and no config.json on this disk says how long the texts of the model may be. Set it, or both max_prompt_tokens and max_response_tokens.';
      context.report(at('max_model_len'), message, uses);
    }
    return { maxModelLen: 2, maxPromptTokens: 1, maxResponseTokens: 1, minResponseTokens: 0 };
  }
  const maxPromptTokens = prompt ?? (response === null ? Math.floor(whole / 2) : whole - response);
  const maxResponseTokens = response ?? whole - maxPromptTokens;
  const complete = {
    maxModelLen: whole,
    maxPromptTokens,
    maxResponseTokens,
    minResponseTokens: given.minResponseTokens,
  };
  checkLengths(context, at, complete, given, shape, uses);
  return complete;
}

function checkLengths(
  context: StageContext,
  at: (key: string) => KeyPath,
  lengths: CompleteLengths,
  given: Lengths,
  shape: ModelShape | undefined,
  uses: readonly KeyPath[],
): void {
  const { maxModelLen, maxPromptTokens, maxResponseTokens, minResponseTokens } = lengths;
  if (maxPromptTokens < 1 || maxResponseTokens < 1) {
    const [key, part] =
      maxResponseTokens < 1
        ? (['max_prompt_tokens', maxPromptTokens] as const)
        : (['max_response_tokens', maxResponseTokens] as const);
    context.report(
      at(key),
      `got ${part}, which leaves nothing of max_model_len ${maxModelLen} for the rest. Lower it, or raise max_model_len.`,
      uses,
    );
  } else if (maxPromptTokens + maxResponseTokens > maxModelLen) {
    const sum = maxPromptTokens + maxResponseTokens;
    context.report(
      at('max_model_len'),
      `got ${maxModelLen}, but max_prompt_tokens ${maxPromptTokens} and max_response_tokens ${maxResponseTokens} need ${sum}. Raise it to ${sum}, or lower one of them.`,
      uses,
    );
  }
  if (minResponseTokens >= maxResponseTokens && maxResponseTokens >= 1) {
    context.report(
      at('min_response_tokens'),
      `got ${minResponseTokens}, expected less than max_response_tokens, which is ${maxResponseTokens}.`,
      uses,
    );
  }
  if (shape?.maxPositions !== undefined && maxModelLen > shape.maxPositions) {
    const key = given.maxModelLen === null ? 'max_response_tokens' : 'max_model_len';
    context.report(
      at(key),
      `asks for sequences of ${maxModelLen} tokens, but the model has positions for ${shape.maxPositions}. Lower it to ${shape.maxPositions}, or take another model.`,
      uses,
    );
  }
}
