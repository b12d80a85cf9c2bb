export {
  createChatFormat,
  type ChatFormat,
  type ChatFormatOptions,
  type ParsedTurn,
  type PromptInput,
  type ReadTurnOptions,
} from './format/chat-format.js';
export type { AnswerForm } from './constraint/answer-grammar.js';
export {
  encodeConversation,
  type ConversationInput,
  type EncodedConversation,
} from './conversation.js';
export type { Fork, ForkReason } from './ledger/fork-reason.js';
export {
  createLedger,
  type Ledger,
  type LedgerOptions,
  type LedgerPrompt,
} from './ledger/ledger.js';
export type { PromptRecord, RecordedTurn } from './ledger/turn.js';
export { reasoningParsers } from './reasoning-parser/table.js';
export type { ReasoningParse, ReasoningParser } from './reasoning-parser/types.js';
export { chatTemplates } from './template/chat-templates.js';
export { normalizeMessages, type NormalMessage } from './template/messages.js';
export { createChatTemplate, type ChatTemplate, type RenderInput } from './template/template.js';
export { buildCharTokenizer, type CharTokenizerOptions } from './tokenizer/char-tokenizer.js';
export { readTokenizerFiles, writeTokenizerFiles, type TokenizerFiles } from './tokenizer/files.js';
export { tokenByteTable } from './tokenizer/token-bytes.js';
export { tokenTexts } from './tokenizer/token-texts.js';
export {
  createTokenizer,
  loadTokenizer,
  type DecodeOptions,
  type Tokenizer,
} from './tokenizer/tokenizer.js';
export { vocabularyOf } from './tokenizer/vocabulary.js';
export { toolCallParsers } from './tool-call-parser/table.js';
export type { ParsedToolCall, ToolCallParse, ToolCallParser } from './tool-call-parser/types.js';
