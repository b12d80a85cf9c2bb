/** The model: where it is, how long its texts may be, how it samples. */
import type { ModelConfig, RolloutModelConfig } from '../resolved.js';
import type { KeyPath } from '../tree/node.js';
import type { StageContext } from './context.js';
import { readModelFolder, type ModelShape } from './model-folder.js';
import { locate, type Location } from './paths.js';

export interface DerivedModel {
  readonly model: ModelConfig;
  readonly rolloutModel: RolloutModelConfig;
}

export function deriveModel(context: StageContext): DerivedModel {
  const { model: input } = context.input;
  const location = locateModel(context);
  const shape = location?.isLocal === true ? readShape(context, location.path) : undefined;
  const given: Lengths = {
    maxModelLen: input.max_model_len,
    maxPromptTokens: input.max_prompt_tokens,
    maxResponseTokens: input.max_response_tokens,
    minResponseTokens: input.min_response_tokens,
  };
  const lengths = deriveLengths(context, ['model'], given, shape, location?.isLocal === false || shape !== undefined);
  const model: ModelConfig = {
    modelPath: location?.path ?? input.model_path,
    isLocal: location?.isLocal ?? false,
    fromPreviousStage: context.hasPrevious && !context.stageSets('model', 'model_path'),
    chatTemplate: deriveTemplate(context),
    temperature: input.temperature,
    topP: input.top_p,
    topK: input.top_k,
    logprobs: input.logprobs,
    ...lengths,
    enableThinking: input.enable_thinking ?? undefined,
    threads: input.threads ?? undefined,
    memoryBudgetMb: input.memory_budget_mb ?? undefined,
  };
  return { model, rolloutModel: deriveRolloutModel(context, model) };
}

function locateModel(context: StageContext): Location | undefined {
  const path: KeyPath = ['model', 'model_path'];
  const value = context.input.model.model_path;
  if (value !== '') return locate(context, path, value, 'model');
  context.report(path, 'is not set. Give the folder of a Hugging Face model.');
  return undefined;
}

function readShape(context: StageContext, folder: string): ModelShape | undefined {
  const read = readModelFolder(context.disk, folder);
  if (read.kind === 'shape') return read.shape;
  context.report(['model', 'model_path'], `got "${context.input.model.model_path}": ${folder} ${read.message}.`);
  return undefined;
}

/** The file wins over the inline text, as the original documents it. */
function deriveTemplate(context: StageContext): string | undefined {
  const { chat_template_path: file, custom_chat_template: inline } = context.input.model;
  if (file === null) return inline ?? undefined;
  if (inline !== null) context.warn(['model', 'custom_chat_template'], 'ignored. chat_template_path is set too, and wins.');
  const full = context.disk.resolve(file);
  const text = context.disk.kind(full) === 'file' ? context.disk.readText(full) : undefined;
  if (text === undefined)
    context.report(
      ['model', 'chat_template_path'],
      `got "${file}", but ${full} is not a readable text file. Relative paths start at the working directory.`,
    );
  return text;
}

interface Lengths {
  readonly maxModelLen: number | null;
  readonly maxPromptTokens: number | null;
  readonly maxResponseTokens: number | null;
  readonly minResponseTokens: number;
}

type CompleteLengths = Pick<ModelConfig, 'maxModelLen' | 'maxPromptTokens' | 'maxResponseTokens' | 'minResponseTokens'>;

/**
 * Completes the lengths: the whole is the sum of its parts, else what the model on disk allows; a missing part is the
 * remainder; two missing parts get half each.
 */
function deriveLengths(
  context: StageContext,
  section: KeyPath,
  given: Lengths,
  shape: ModelShape | undefined,
  /** False when the model could not be found, which is reported already. */
  mayReport = true,
): CompleteLengths {
  const at = (key: string): KeyPath => [...section, key];
  const uses = [at('max_model_len'), at('max_prompt_tokens'), at('max_response_tokens'), ['model', 'model_path']];
  const { maxPromptTokens: prompt, maxResponseTokens: response } = given;
  const whole = given.maxModelLen ?? (prompt !== null && response !== null ? prompt + response : shape?.maxPositions);
  if (whole === undefined) {
    if (mayReport) {
      const message =
        'is not set, and nothing on this disk says how long the texts of the model may be. Set it, or both max_prompt_tokens and max_response_tokens.';
      context.report(at('max_model_len'), message, uses);
    }
    return { maxModelLen: 2, maxPromptTokens: 1, maxResponseTokens: 1, minResponseTokens: 0 };
  }
  const maxPromptTokens = prompt ?? (response === null ? Math.floor(whole / 2) : whole - response);
  const maxResponseTokens = response ?? whole - maxPromptTokens;
  const complete = { maxModelLen: whole, maxPromptTokens, maxResponseTokens, minResponseTokens: given.minResponseTokens };
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
      maxResponseTokens < 1 ? (['max_prompt_tokens', maxPromptTokens] as const) : (['max_response_tokens', maxResponseTokens] as const);
    context.report(
      at(key),
      `got ${part}, which leaves nothing of max_model_len ${maxModelLen} for the other side. Lower it, or raise max_model_len.`,
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

function deriveRolloutModel(context: StageContext, model: ModelConfig): RolloutModelConfig {
  const input = context.input.explorer.rollout_model;
  const section: KeyPath = ['explorer', 'rollout_model'];
  const own = ['max_model_len', 'max_prompt_tokens', 'max_response_tokens', 'min_response_tokens'].some((key) =>
    context.isSet(...section, key),
  );
  const given: Lengths = {
    maxModelLen: input.max_model_len ?? model.maxModelLen,
    maxPromptTokens:
      input.max_prompt_tokens ?? (input.max_model_len === null && input.max_response_tokens === null ? model.maxPromptTokens : null),
    maxResponseTokens:
      input.max_response_tokens ?? (input.max_model_len === null && input.max_prompt_tokens === null ? model.maxResponseTokens : null),
    minResponseTokens: input.min_response_tokens ?? model.minResponseTokens,
  };
  if (own && input.max_model_len !== null && input.max_model_len > model.maxModelLen) {
    context.report(
      [...section, 'max_model_len'],
      `got ${input.max_model_len}, but what is longer than model.max_model_len, ${model.maxModelLen}, cannot be trained on.`,
      [['model', 'max_model_len']],
    );
  }
  const lengths = own ? deriveLengths(context, section, given, undefined) : model;
  if (input.enable_auto_tool_choice && input.tool_call_parser === null) {
    context.report(
      [...section, 'enable_auto_tool_choice'],
      'got true, but tool_call_parser is not set, so no tool call would be read from the text. Set tool_call_parser: hermes.',
    );
  }
  return {
    name: input.name ?? undefined,
    temperature: input.temperature ?? model.temperature,
    topP: input.top_p ?? model.topP,
    topK: input.top_k ?? model.topK,
    logprobs: input.logprobs ?? model.logprobs,
    maxModelLen: lengths.maxModelLen,
    maxPromptTokens: lengths.maxPromptTokens,
    maxResponseTokens: lengths.maxResponseTokens,
    minResponseTokens: lengths.minResponseTokens,
    chatTemplate: input.chat_template ?? model.chatTemplate,
    enableThinking: input.enable_thinking ?? model.enableThinking,
    // Other names are refused by the status table.
    toolCallParser: (input.tool_call_parser ?? undefined) as RolloutModelConfig['toolCallParser'],
    reasoningParser: (input.reasoning_parser ?? undefined) as RolloutModelConfig['reasoningParser'],
  };
}
