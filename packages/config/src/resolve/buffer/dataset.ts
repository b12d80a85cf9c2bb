/** How rows of a task set or of supervised data are read, and in which order. */
import type { DataFormat, DataSelectorConfig, ModelConfig } from '../base/resolved.js';
import type { RunInput } from '../../schema/root.js';

type TasksetInput = RunInput['buffer']['explorer_input']['tasksets'][number];

export function deriveFormat(input: TasksetInput['format'], model: ModelConfig): DataFormat {
  return {
    promptType: input.prompt_type,
    promptKey: input.prompt_key,
    responseKey: input.response_key,
    messagesKey: input.messages_key,
    toolsKey: input.tools_key,
    chosenKey: input.chosen_key,
    rejectedKey: input.rejected_key,
    ...(input.system_prompt_key === null ? {} : { systemPromptKey: input.system_prompt_key }),
    ...(input.system_prompt === null ? {} : { systemPrompt: input.system_prompt }),
    ...(input.reply_prefix === null ? {} : { replyPrefix: input.reply_prefix }),
    ...(input.workflow_key === '' ? {} : { workflowKey: input.workflow_key }),
    ...(input.reward_fn_key === '' ? {} : { rewardFnKey: input.reward_fn_key }),
    enableConcatenatedMultiTurn: input.enable_concatenated_multi_turn,
    chatTemplate: input.chat_template ?? model.chatTemplate,
    enableThinking: input.enable_thinking ?? model.enableThinking,
  };
}

export function deriveSelector(input: TasksetInput['data_selector']): DataSelectorConfig {
  // Other names are refused by the status table.
  return {
    selectorType: input.selector_type as DataSelectorConfig['selectorType'],
    seed: input.seed ?? undefined,
  };
}
