/** How a model samples and speaks: what its section leaves out is as for the trained model. */
import type { RunInput } from '../../schema/root.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import type { CompleteLengths, Lengths } from './lengths.js';

export type InferenceInput = Omit<
  RunInput['explorer']['rollout_model'],
  'model_path' | 'name' | 'api_key'
>;

/**
 * Lengths of a section that sets some of them; the others are completed from what the trained model
 * may have.
 */
export function ownLengths(input: InferenceInput, model: CompleteLengths): Lengths {
  const {
    max_model_len: whole,
    max_prompt_tokens: prompt,
    max_response_tokens: response,
    min_response_tokens: least,
  } = input;
  return {
    maxModelLen: whole ?? model.maxModelLen,
    maxPromptTokens: prompt ?? (whole === null && response === null ? model.maxPromptTokens : null),
    maxResponseTokens:
      response ?? (whole === null && prompt === null ? model.maxResponseTokens : null),
    minResponseTokens: least ?? model.minResponseTokens,
  };
}

export function checkToolChoice(
  context: StageContext,
  section: KeyPath,
  input: InferenceInput,
): void {
  if (!input.enable_auto_tool_choice || input.tool_call_parser !== null) return;
  context.report(
    [...section, 'enable_auto_tool_choice'],
    'got true, but tool_call_parser is not set, so no tool call would be read from the text. Set tool_call_parser: hermes.',
  );
}
