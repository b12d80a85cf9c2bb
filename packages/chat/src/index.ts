export type { ResponseConstraint } from './constraint/response-grammar.js';
export {
  encodeConversation,
  type ConversationInput,
  type EncodedConversation,
} from './conversation.js';
export {
  createChatFormat,
  type BeginTurnOptions,
  type ChatFormat,
  type ChatFormatOptions,
  type ParsedTurn,
  type ReadTurnOptions,
} from './format/chat-format.js';
export type { PromptInput } from './format/prompt.js';
export type { PartialTurn, TurnReader } from './format/turn-reader.js';
export type { Fork, ForkReason } from './ledger/fork-reason.js';
export {
  createLedger,
  type Ledger,
  type LedgerOptions,
  type LedgerPrompt,
} from './ledger/ledger.js';
export type { PromptRecord, RecordedTurn } from './ledger/turn.js';
export type { InstructionRole } from './messages/instructions.js';
export { normalizeMessages, type NormalMessage } from './messages/messages.js';
export { reasoningParsers } from './reasoning-parser/table.js';
export type { ReasoningParse, ReasoningParser } from './reasoning-parser/types.js';
export { chatTemplates } from './template/chat-templates.js';
export { buildCharTokenizer, type CharTokenizerOptions } from './tokenizer/char-tokenizer.js';
export { readTokenizerFiles, writeTokenizerFiles, type TokenizerFiles } from './tokenizer/files.js';
export { createTokenizer, loadTokenizer } from './tokenizer/tokenizer.js';
export { type DecodeOptions, type Tokenizer } from './tokenizer/types.js';
export { toolCallParsers } from './tool-call-parser/table.js';
export type { ParsedToolCall, ToolCallParse, ToolCallParser } from './tool-call-parser/types.js';
export { tokenByteTable, tokenTexts } from './tokenizer/token-bytes.js';
