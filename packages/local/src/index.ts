export type { ChatAnswer, ChatPart, Usage } from './model/answers.js';
export {
  chatFormatOf,
  chatFormatOptions,
  loadModel,
  modelOver,
  type ChatMessages,
  type ChatRequest,
  type LoadModelOptions,
  type LocalModel,
} from './model/load-model.js';
export { languageModel, type ProviderSettings } from './model/language-model.js';
export type { ChatSettings } from './place/chat-settings.js';
export { findModel, type ModelPlace } from './place/find-model.js';
export type { EvaluationScore, RunFacts } from './place/run-facts.js';
export { completedBy, scoreInLlama } from './runtimes/llama-cpp.js';
export { cutDistribution, drawFrom, type Probable } from './runtimes/draw.js';
