/** Makes the tokenizer files that a Hugging Face folder of the model would contain. */
import { unsupported } from '../file/failure.js';
import type { GgufFile } from '../file/gguf-file.js';
import { keysOf, type Keys } from '../model/keys.js';
import { bytePairTokenizer } from './byte-pairs.js';
import { preTokenizers } from './pre-tokenizers.js';
import { isGemma4, sentencePieceTokenizer } from './sentence-pieces.js';

/** Functions that return the content of `tokenizer.json`, by the name in `tokenizer.ggml.model`. */
const tokenizers: Readonly<Record<string, (file: GgufFile) => Readonly<Record<string, unknown>>>> =
  { gpt2: bytePairTokenizer, llama: sentencePieceTokenizer, gemma4: sentencePieceTokenizer };

/**
 * Returns the content of `tokenizer.json`; undefined if the GGUF file has no tokenizer.
 * @throws CheckpointError that names the part that is not supported
 */
export function tokenizerJson(file: GgufFile): Readonly<Record<string, unknown>> | undefined {
  const name = keysOf(file).text('tokenizer.ggml.model');
  if (name === undefined) return undefined;
  const convert = Object.hasOwn(tokenizers, name) ? tokenizers[name] : undefined;
  if (convert) return convert(file);
  throw unsupported(
    file.path,
    'tokenizer.ggml.model',
    `tokenizer.ggml.model is ${name}; expected one of ${Object.keys(tokenizers).join(', ')}. Use the Hugging Face folder of this model.`,
  );
}

const named = {
  bos_token: 'bos_token_id',
  eos_token: 'eos_token_id',
  pad_token: 'padding_token_id',
  unk_token: 'unknown_token_id',
} as const;

/**
 * Returns the content of `tokenizer_config.json`, with chat templates only if there are several.
 */
export function tokenizerConfig(file: GgufFile): Readonly<Record<string, unknown>> {
  const keys = keysOf(file);
  const texts = keys.texts('tokenizer.ggml.tokens') ?? [];
  const tokens = Object.entries(named).flatMap(([name, key]) => {
    const id = keys.number(`tokenizer.ggml.${key}`);
    return id === undefined || texts[id] === undefined ? [] : [[name, texts[id]] as const];
  });
  return {
    ...Object.fromEntries(tokens),
    // Some files of Gemma 4 state false, which llama.cpp does not follow.
    add_bos_token: isGemma4(keys) || (keys.flag('tokenizer.ggml.add_bos_token') ?? addsBos(keys)),
    add_eos_token: keys.flag('tokenizer.ggml.add_eos_token') ?? false,
    clean_up_tokenization_spaces: false,
    model_max_length: keys.number(keys.own('context_length')),
    tokenizer_class: 'PreTrainedTokenizerFast',
    ...namedTemplates(keys),
  };
}

/**
 * Returns llama.cpp's default of `add_bos_token`, which applies to older files without this key.
 */
const addsBos = (keys: Keys): boolean =>
  keys.text('tokenizer.ggml.model') === 'llama' ||
  preTokenizers.get(keys.text('tokenizer.ggml.pre') ?? '')?.addsBos === true;

const moreTemplates = (keys: Keys): readonly string[] =>
  keys.texts('tokenizer.chat_templates') ?? [];

/**
 * Returns the content of `chat_template.jinja`. Undefined if there is no template, or if there are
 * several templates, which are then in `tokenizer_config.json`.
 */
export function chatTemplate(file: GgufFile): string | undefined {
  const keys = keysOf(file);
  return moreTemplates(keys).length > 0 ? undefined : keys.text('tokenizer.chat_template');
}

function namedTemplates(keys: Keys): Readonly<Record<string, unknown>> {
  const names = moreTemplates(keys);
  if (names.length === 0) return {};
  const others = names.map((name) => ({
    name,
    template: keys.text(`tokenizer.chat_template.${name}`),
  }));
  return {
    chat_template: [{ name: 'default', template: keys.text('tokenizer.chat_template') }, ...others],
  };
}

/**
 * Texts of the tokens that end a response of Gemma 4. Its GGUF files name only one of these tokens.
 */
const gemma4Ends = ['<eos>', '<turn|>', '<|tool_response>'];

/** Returns the content of `generation_config.json`: the ids of the tokens that end a response. */
export function generationConfig(file: GgufFile): Readonly<Record<string, unknown>> {
  const keys = keysOf(file);
  const texts = isGemma4(keys) ? (keys.texts('tokenizer.ggml.tokens') ?? []) : [];
  const ends = [
    ...['eos', 'eot', 'eom'].flatMap(
      (name) => keys.number(`tokenizer.ggml.${name}_token_id`) ?? [],
    ),
    // Ollama's converter lists all of them.
    ...(keys.numbers('tokenizer.ggml.eos_token_ids') ?? []),
    ...gemma4Ends.map((end) => texts.indexOf(end)).filter((id) => id >= 0),
  ];
  return {
    bos_token_id: keys.number('tokenizer.ggml.bos_token_id'),
    eos_token_id: [...new Set(ends)],
    pad_token_id: keys.number('tokenizer.ggml.padding_token_id'),
  };
}
