/** Exports for our own packages, without a promise of stability. */
export { invalidRequest, quote } from './messages/invalid-request.js';
export { withInstructions } from './messages/instructions.js';
export { isPrefill } from './format/prompt.js';
export { textBeforeStop } from './format/text-before-stop.js';
export { itemSpans, memberSpans, skipSpace } from './tool-call-parser/json-span.js';
export { assertNesting } from './messages/messages.js';
export { callOfId } from './tool-call-parser/call-id.js';
export { templateList, toolTemplateFile } from './tokenizer/files.js';
export { vocabularySample } from './tokenizer/vocabulary-sample.js';
export { vocabularyOf } from './tokenizer/vocabulary.js';
export { configDefaults } from './gguf/model/config-defaults.js';
export { bfloatOfNumber, halfOfNumber } from './gguf/quantization/half.js';
export { isUnset, plainInitialisations, variantKeys } from './gguf/save/peft-variants.js';
