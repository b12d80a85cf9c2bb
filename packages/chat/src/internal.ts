export { invalidRequest, quote } from './messages/invalid-request.js';
export { tokenByteTable } from './tokenizer/token-bytes.js';
export { tokenTexts } from './tokenizer/token-texts.js';
export { vocabularyOf } from './tokenizer/vocabulary.js';
