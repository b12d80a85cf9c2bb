/** Resolves the lengths of the explorer's models, and checks their tool-call settings. */
import type { RunInput } from '../../schema/root.js';
import type { KeyPath } from '../../source/node.js';
import type { StageContext } from '../base/context.js';
import type { CompleteLengths, Lengths } from './lengths.js';

export type InferenceInput = Omit<
  RunInput['explorer']['rollout_model'],
  'model_path' | 'name' | 'api_key' | 'base_url'
>;

/** Returns the lengths that a section sets, completed with the lengths of the trained model. */
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
  const { tool_call_parser: parser, tool_prompt: prompt } = input;
  if (prompt !== null && parser !== null && parser !== 'hermes')
    context.report(
      [...section, 'tool_call_parser'],
      `got ${parser}, but tool_prompt: ${prompt} teaches the syntax of hermes. Remove one of them.`,
    );
  const key = [...section, 'enable_auto_tool_choice'];
  const given = parser === null ? 'tool_prompt' : 'tool_call_parser';
  if (parser !== null || prompt !== null) {
    if (context.isSet(...key) && !input.enable_auto_tool_choice)
      context.ignore(
        key,
        `Tool calls are read because ${given} is set. Remove ${given} for a model that calls no tools.`,
      );
    return;
  }
  if (!input.enable_auto_tool_choice) return;
  context.report(
    key,
    'got true, but tool_call_parser is not set, so no tool call would be read from the text. Set tool_call_parser: auto, or the syntax of the model (hermes, gemma4, lfm2, llama3_json, mistral, qwen3_coder ...).',
  );
}
