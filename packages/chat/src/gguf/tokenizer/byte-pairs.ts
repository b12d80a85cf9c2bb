import { unsupported } from '../file/failure.js';
import type { GgufFile } from '../file/gguf-file.js';
import { keysOf } from '../model/keys.js';
import { preTokenizers } from './pre-tokenizers.js';
import { tokenKinds, tokensOf } from './tokens.js';

/**
 * Returns the content of `tokenizer.json` for GGUF's tokenizer model `gpt2`: byte-level BPE, whose
 * merges are stored in order.
 * @throws CheckpointError that names an unknown pre-tokenizer
 */
export function bytePairTokenizer(file: GgufFile): Readonly<Record<string, unknown>> {
  const keys = keysOf(file);
  const name = keys.text('tokenizer.ggml.pre') ?? 'missing';
  const pre = preTokenizers.get(name);
  const merges = keys.texts('tokenizer.ggml.merges');
  if (!pre || !merges)
    throw unsupported(
      file.path,
      pre ? 'tokenizer.ggml.merges' : 'tokenizer.ggml.pre',
      pre
        ? 'it holds no tokenizer.ggml.merges. Use the Hugging Face folder of this model.'
        : `tokenizer.ggml.pre is ${name}; expected one of ${[...preTokenizers.keys()].join(', ')}. Use the Hugging Face folder of this model.`,
    );
  const { texts, added } = tokensOf(file);
  // The unknown token of most files is that of tokenizer_config.json, which has no effect here.
  const id = keys.number('tokenizer.ggml.unknown_token_id') ?? -1;
  const isUnknown = keys.numbers('tokenizer.ggml.token_type')?.[id] === tokenKinds.unknown;
  const unknown = isUnknown ? texts[id] : null;
  return {
    version: '1.0',
    truncation: null,
    padding: null,
    added_tokens: added,
    normalizer: pre.normalizer,
    pre_tokenizer: pre.preTokenizer,
    post_processor: {
      type: 'ByteLevel',
      add_prefix_space: false,
      trim_offsets: false,
      use_regex: true,
    },
    decoder: { type: 'ByteLevel', add_prefix_space: true, trim_offsets: true, use_regex: true },
    model: {
      type: 'BPE',
      dropout: null,
      unk_token: unknown,
      continuing_subword_prefix: null,
      end_of_word_suffix: null,
      fuse_unk: false,
      byte_fallback: false,
      ignore_merges: pre.ignoreMerges,
      vocab: Object.fromEntries(texts.map((text, id) => [text, id])),
      merges,
    },
  };
}
