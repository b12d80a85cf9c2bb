/** Converts text to token ids and back, with the tokenizer files of a model. */
import { Tokenizer as HuggingFaceTokenizer } from '@huggingface/tokenizers';
import { CheckpointError, describeError, ModelError } from '@trinity-rft/core';
import { withinMs } from '@trinity-rft/core/support';
import { byteTokenOf, section, tokenText } from '../gguf/tokenizer/source.js';
import { isObject, type JsonObject } from '../json/object.js';
import { readTokenizerFiles, type TokenizerFiles } from './files.js';
import { supportedPreTokenizer } from './pre-tokenizer.js';
import { tokenByteTable } from './token-bytes.js';
import type { Tokenizer } from './types.js';

/**
 * Loads the tokenizer of a model folder or a GGUF file.
 * @throws CheckpointError when the tokenizer is missing or damaged
 */
export async function loadTokenizer(folder: string): Promise<Tokenizer> {
  return createTokenizer(await readTokenizerFiles(folder));
}

/**
 * Builds a tokenizer from the contents of its files.
 * @throws CheckpointError when the files are not valid
 */
export function createTokenizer(files: TokenizerFiles): Tokenizer {
  const json = tokenizerJson(files.tokenizer);
  const inner = open(json, files.tokenizerConfig);
  const idOf = (token: string | undefined): number | undefined =>
    token === undefined ? undefined : inner.token_to_id(token);
  const specialTokens = namedTokens(files.tokenizerConfig);
  const added = [...inner.get_added_tokens_decoder()];
  const isSlow = hasNestedRepeats(json);
  const tokenizer: Tokenizer = {
    files,
    vocabularySize: Math.max(...added.map(([id]) => id + 1), inner.model?.vocab.length ?? 0),
    specialTokenIds: new Set(added.filter(([, token]) => token.special).map(([id]) => id)),
    controlTokenIds: new Set(
      added
        .filter(([, { special, content }]) => special || /^[<[]\S+[>\]]$/.test(content))
        .map(([id]) => id),
    ),
    prefixIds: prefixIds(
      inner,
      files.tokenizerConfig['add_bos_token'],
      idOf(specialTokens['bos_token']),
    ),
    eosTokenIds: eosIds(files.generationConfig, idOf(specialTokens['eos_token'])),
    specialTokens,
    chatTemplates: namedTemplates(files),
    tokenToId: idOf,
    idToToken: (id) => inner.id_to_token(id),
    encode: (text) => encode(inner, text, isSlow),
    decode: (ids, options) => decode(tokenByteTable(tokenizer), ids, options?.skip),
  };
  return tokenizer;
}

/**
 * Returns the tokenizer.json for the library, with supported pre-tokenizers and with keys that the
 * library requires although files may omit them.
 * @throws CheckpointError that names a setting that the library does not support
 */
function tokenizerJson(tokenizer: JsonObject): JsonObject {
  refuseWholeWords(tokenizer);
  return {
    normalizer: null,
    post_processor: null,
    decoder: null,
    added_tokens: [],
    ...tokenizer,
    pre_tokenizer: supportedPreTokenizer(tokenizer['pre_tokenizer'] ?? null),
  };
}

/**
 * String that is not in the vocabulary, used as the unknown token of models that have none. Without
 * an unknown token, the library silently omits characters that have no token; with this one, the id
 * of such a character is undefined, which `encode` reports as an error. Byte-level models keep
 * omitting bytes that have no token, as in Python.
 */
const noToken = '\u0000no token\u0000';

function open(json: JsonObject, config: JsonObject): HuggingFaceTokenizer {
  try {
    const inner = new HuggingFaceTokenizer(json, flatTokens(config));
    if (inner.model && !JSON.stringify(json['pre_tokenizer']).includes('"ByteLevel"'))
      inner.model.unk_token ??= noToken;
    const { byte_fallback: fallsBack, vocab } = section(json, 'model');
    // Only for Unigram, whose vocabulary is a list: the library itself does so for BPE.
    if (inner.model && fallsBack === true && Array.isArray(vocab)) unknownToBytes(inner.model);
    return inner;
  } catch (cause) {
    throw new CheckpointError(
      `tokenizer.json is damaged or has a part that is not supported: ${describeError(cause)}. Copy it again from the original model, or use a model with another tokenizer.`,
      { code: 'TOKENIZER_DAMAGED', cause },
    );
  }
}

/**
 * Makes a model encode characters that have no token as the tokens of their UTF-8 bytes. Changes
 * nothing unless the vocabulary has the tokens of all 256 bytes.
 */
function unknownToBytes(model: NonNullable<HuggingFaceTokenizer['model']>): void {
  const ids = model.tokens_to_ids;
  const bytes = Array.from({ length: 256 }, (_, byte) => byteTokenOf(byte));
  if (!bytes.every((token) => ids.has(token))) return;
  const encodePieces: (texts: string[]) => string[] = model.encode.bind(model);
  model.encode = (texts: string[]) =>
    encodePieces(texts).flatMap((piece) =>
      ids.has(piece) ? [piece] : Array.from(Buffer.from(piece), (byte) => bytes[byte]!),
    );
}

/**
 * Refuses added tokens with `single_word`, which match whole words only, because the library would
 * also find such a token within a word.
 */
function refuseWholeWords({ added_tokens: tokens }: JsonObject): void {
  const found = Array.isArray(tokens)
    ? tokens.filter(isObject).find((token) => token['single_word'] === true)
    : undefined;
  if (found)
    throw new CheckpointError(
      `tokenizer.json: added_tokens has ${JSON.stringify(found['content'])} with single_word true, which is not supported. Set single_word to false if the token may also be part of a word.`,
      { code: 'TOKENIZER_UNSUPPORTED' },
    );
}

/**
 * Returns the ids that the tokenizer puts before a text. `add_bos_token` takes precedence over the
 * post-processor, as in the Llama tokenizers of `transformers`.
 */
function prefixIds(
  inner: HuggingFaceTokenizer,
  addsBos: unknown,
  bos: number | undefined,
): readonly number[] {
  if (typeof addsBos === 'boolean') return addsBos && bos !== undefined ? [bos] : [];
  const [first] = inner.encode('x', { add_special_tokens: false }).ids;
  const { ids } = inner.encode('x');
  return ids.slice(0, Math.max(0, ids.indexOf(first!)));
}

/**
 * Length of a text, in characters, above which encoding has a time limit. Shorter texts take little
 * time, unless a pattern contains nested repetitions.
 */
const longText = 5_000;

/**
 * Returns the time limit for encoding a text, in milliseconds, which is far more than any tokenizer
 * needs.
 */
const msFor = (text: string): number => Math.ceil(1_000 + text.length / 100);

/**
 * Returns true if a pattern in the files repeats a group. If the group itself contains a
 * repetition, as in `(a+)+$`, the pattern can take exponential time even for a short text.
 */
const hasNestedRepeats = (tokenizer: JsonObject): boolean =>
  [tokenizer['normalizer'], tokenizer['pre_tokenizer']].some((part) =>
    /"Regex":"(?:[^"\\]|\\.)*\)[*+{]/.test(JSON.stringify(part ?? null)),
  );

function encode(inner: HuggingFaceTokenizer, text: string, isSlow: boolean): Int32Array {
  const work = (): { readonly ids: readonly unknown[] } =>
    inner.encode(text, { add_special_tokens: false });
  const ms = msFor(text);
  const encoded = isSlow || text.length > longText ? withinMs(ms, work) : { value: work() };
  if (!encoded)
    throw new ModelError(
      `The patterns of the tokenizer take more than ${Math.round(ms / 1000)} s for this text of ${text.length} characters. Shorten its runs of equal characters, or mend the Regex of pre_tokenizer and normalizer in tokenizer.json.`,
      { status: 400, code: 'text_not_encodable' },
    );
  const { ids } = encoded.value;
  if (ids.includes(undefined)) throw noTokenFor(text, inner);
  return Int32Array.from(ids as readonly number[]);
}

function noTokenFor(text: string, inner: HuggingFaceTokenizer): ModelError {
  const idsOf = (part: string): readonly unknown[] =>
    inner.encode(part, { add_special_tokens: false }).ids;
  const character = Array.from(new Set(text)).find((each) => idsOf(each).includes(undefined));
  const what = character === undefined ? 'Some characters' : JSON.stringify(character);
  return new ModelError(
    `${what} in the text has no token, and the tokenizer has no unknown token. Leave it out, or add it to the vocabulary of tokenizer.json.`,
    { status: 400, code: 'text_not_encodable' },
  );
}

// Keeps byte order marks, which are ordinary text here.
const utf8 = new TextDecoder('utf-8', { ignoreBOM: true });

/**
 * Buffer for the bytes of a text, which all calls of `decode` reuse. It grows to the size of the
 * longest text.
 */
let joined = new Uint8Array(1024);

function decode(
  table: readonly Uint8Array[],
  ids: ArrayLike<number>,
  skip?: ReadonlySet<number>,
): string {
  let length = 0;
  for (let i = 0; i < ids.length; i++) {
    const bytes = skip?.has(ids[i]!) ? undefined : table[ids[i]!];
    if (!bytes) continue;
    if (length + bytes.length > joined.length) joined = grown(joined, length + bytes.length);
    for (let k = 0; k < bytes.length; k++) joined[length++] = bytes[k]!;
  }
  return utf8.decode(joined.subarray(0, length));
}

function grown(bytes: Uint8Array, least: number): Uint8Array<ArrayBuffer> {
  const larger = new Uint8Array(Math.max(2 * bytes.length, least));
  larger.set(bytes);
  return larger;
}

function namedTokens(config: JsonObject): Record<string, string> {
  const tokens: Record<string, string> = {};
  for (const name of ['bos_token', 'eos_token', 'pad_token', 'unk_token']) {
    const text = tokenText(config[name]);
    if (text !== undefined) tokens[name] = text;
  }
  return tokens;
}

function flatTokens(config: JsonObject): JsonObject {
  return { ...config, ...namedTokens(config), clean_up_tokenization_spaces: false };
}

function namedTemplates(files: TokenizerFiles): Record<string, string> {
  if (files.chatTemplate !== undefined) return { default: files.chatTemplate };
  const value = files.tokenizerConfig['chat_template'];
  if (typeof value === 'string') return { default: value };
  if (!Array.isArray(value)) return {};
  const entries = value as readonly { readonly name?: unknown; readonly template?: unknown }[];
  return Object.fromEntries(
    entries.flatMap(({ name, template }) =>
      typeof name === 'string' && typeof template === 'string' ? [[name, template]] : [],
    ),
  );
}

function eosIds(
  generationConfig: JsonObject | undefined,
  eos: number | undefined,
): readonly number[] {
  const configured = [generationConfig?.['eos_token_id']]
    .flat()
    .filter((id): id is number => Number.isInteger(id));
  return [...new Set(eos === undefined ? configured : [...configured, eos])];
}
