/** The bytes of each token, so that ids can be decoded independently of their neighbours. */
import { CheckpointError } from '@trinity-rft/core';
import type { Tokenizer } from './types.js';

interface DecoderConfig {
  readonly type: string;
  readonly decoders?: readonly DecoderConfig[];
  readonly pattern?: { readonly String?: string; readonly Regex?: string };
  readonly content?: string;
  readonly replacement?: string;
}

const tables = new WeakMap<Tokenizer, readonly Uint8Array[]>();

/**
 * Returns the bytes of every id in [0, vocabularySize); an empty array for ids without a token.
 * Concatenating the bytes of a sequence's tokens gives its text, except that a `Strip` decoder of
 * SentencePiece models would remove one leading space. Supports byte-level BPE, SentencePiece with
 * byte fallback, and words or characters that are joined without changes.
 * @throws CheckpointError for other decoders, such as WordPiece, CTC, or Replace with a Regex
 */
export function tokenByteTable(tokenizer: Tokenizer): readonly Uint8Array[] {
  let table = tables.get(tokenizer);
  if (!table) tables.set(tokenizer, (table = build(tokenizer)));
  return table;
}

/**
 * Returns a piece of text for each token of a sequence, for display. Concatenated, the pieces are
 * the text of the sequence. A character whose bytes belong to several tokens is in the piece of the
 * last of these tokens. Invalid bytes become U+FFFD. Ids beyond the vocabulary have empty pieces.
 */
export function tokenTexts(tokenizer: Tokenizer, tokens: ArrayLike<number>): readonly string[] {
  const table = tokenByteTable(tokenizer);
  const decoder = new TextDecoder('utf-8', { ignoreBOM: true });
  const pieces = Array.from(tokens, (token) =>
    decoder.decode(table[token] ?? new Uint8Array(0), { stream: true }),
  );
  const rest = decoder.decode();
  if (rest !== '') pieces[pieces.length - 1] += rest;
  return pieces;
}

function build(tokenizer: Tokenizer): readonly Uint8Array[] {
  const toBytes = byteRule(
    steps(tokenizer.files.tokenizer['decoder'] as DecoderConfig | null | undefined),
  );
  return Array.from({ length: tokenizer.vocabularySize }, (_, id) => {
    const token = tokenizer.idToToken(id);
    // The rule also applies to added tokens: Gemma's sequences of spaces are added tokens.
    return token === undefined ? new Uint8Array(0) : toBytes(token);
  });
}

/** Returns the steps of a decoder as a flat list, without nested sequences. */
function steps(decoder: DecoderConfig | null | undefined): readonly DecoderConfig[] {
  if (!decoder) return [];
  return decoder.type === 'Sequence' ? (decoder.decoders ?? []).flatMap(steps) : [decoder];
}

const joining = new Set(['Fuse', 'Strip', 'ByteFallback', 'Replace', 'Metaspace']);

function byteRule(decoders: readonly DecoderConfig[]): (token: string) => Uint8Array {
  if (decoders.some(({ type }) => type === 'ByteLevel')) return byteLevel;
  const unsupported = decoders.find(
    ({ type, pattern }) => !joining.has(type) || pattern?.Regex !== undefined,
  );
  if (unsupported || decoders.length === 0) {
    throw new CheckpointError(
      `The tokenizer's decoder is ${unsupported ? `"${unsupported.type}"${unsupported.pattern?.Regex === undefined ? '' : ' with a Regex'}` : 'missing'}, which is not supported. Expected ByteLevel, Metaspace, Fuse, or Replace of a String with ByteFallback.`,
      { code: 'TOKENIZER_UNSUPPORTED' },
    );
  }
  const encoder = new TextEncoder();
  const fallback = decoders.some(({ type }) => type === 'ByteFallback');
  return (token) => {
    if (fallback && /^<0x[0-9A-Fa-f]{2}>$/.test(token))
      return Uint8Array.of(Number.parseInt(token.slice(3, 5), 16));
    return encoder.encode(decoders.reduce(substitute, token));
  };
}

function substitute(token: string, decoder: DecoderConfig): string {
  if (decoder.type === 'Replace' && decoder.pattern?.String !== undefined)
    return token.replaceAll(decoder.pattern.String, decoder.content ?? '');
  if (decoder.type === 'Metaspace') return token.replaceAll(decoder.replacement ?? '\u2581', ' ');
  return token;
}

/**
 * Bytes by their character in GPT-2's printable alphabet. The code point of a printable byte is the
 * byte itself; the other 68 bytes have the code points from 256 on, in order.
 * @see https://github.com/openai/gpt-2/blob/master/src/encoder.py `bytes_to_unicode`
 */
const byteOfCharacter: ReadonlyMap<string, number> = (() => {
  const prints = (byte: number): boolean =>
    (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
  const map = new Map<string, number>();
  let next = 256;
  for (let byte = 0; byte < 256; byte++)
    map.set(String.fromCharCode(prints(byte) ? byte : next++), byte);
  return map;
})();

function byteLevel(token: string): Uint8Array {
  const bytes = Array.from(token, (character) => byteOfCharacter.get(character));
  // A token with characters outside the alphabet is literal text.
  return bytes.includes(undefined)
    ? new TextEncoder().encode(token)
    : Uint8Array.from(bytes as number[]);
}
