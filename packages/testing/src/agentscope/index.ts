/**
 * Our stand-in for AgentScope's TypeScript package, `@agentscope-ai/agentscope`, which npm does not
 * have. What it does was seen on the wire.
 */
export { Agent, type AgentOptions } from './agent.js';
export { OpenAIChatFormatter, type FormatterBase } from './formatter.js';
export {
  createMsg,
  getTextContent,
  type ContentBlock,
  type Msg,
  type TextBlock,
  type ToolCallBlock,
  type ToolResultBlock,
} from './message.js';
export {
  OpenAIChatModel,
  type OpenAIChatModelOptions,
  type ToolChoice,
  type ToolSchema,
} from './model.js';
export { Toolkit, type Tool, type ToolInputSchema } from './toolkit.js';
