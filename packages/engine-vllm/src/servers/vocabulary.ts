/** Checks that a server's tokenizer encodes and decodes strings like that of the training run. */
import { ConfigError } from '@trinity-rft/core';
import type { VocabularySample } from '@trinity-rft/core/engine';
import type { SamplingServer } from './calls.js';

/**
 * Compares the server's tokenizer with that of the training run: the strings to which it decodes
 * token ids, and the token ids to which it encodes strings. Ignores white space in decoded strings,
 * because some tokenizers drop the space before a single token.
 * @returns description of a string that the server splits into other tokens of the same vocabulary,
 * or undefined if there is none
 * @throws ConfigError naming the first difference; ServerFault if the server does not respond
 */
export async function compareVocabulary(
  server: SamplingServer,
  model: string,
  { texts, tokens, decode }: VocabularySample,
  signal: AbortSignal,
): Promise<string | undefined> {
  const decoded = await Promise.all(tokens.map(({ id }) => server.decode(model, [id], signal)));
  for (const [i, { id, text }] of tokens.entries()) {
    const there = decoded[i] ?? '';
    if (!sameText(text, there))
      throw unfit(server, `the id ${id} is ${quoted(text)} here and ${quoted(there)} there`);
  }
  let harmless: string | undefined;
  const encoded = await Promise.all(texts.map(({ text }) => server.encode(model, text, signal)));
  for (const [i, { text, ids }] of texts.entries()) {
    const there = encoded[i] ?? [];
    const at = firstDifference(ids, there);
    if (at < 0) continue;
    const what = `the text ${quoted(text)} is ${shown(ids, at)} here and ${shown(there, at)} there, from token ${at} on`;
    if (!sameText(decode(ids), decode(there))) throw unfit(server, what);
    harmless ??= what;
  }
  return harmless;
}

const quoted = (text: string): string => JSON.stringify(text);
const sameText = (a: string, b: string): boolean => visible(a) === visible(b);
const visible = (text: string): string => text.replaceAll(/\s/g, '');

/** Returns the index of the first difference, or -1 if there is none. */
function firstDifference(here: readonly number[], there: readonly number[]): number {
  const longest = here.length > there.length ? here : there;
  return longest.findIndex((_, i) => here[i] !== there[i]);
}

const shownIds = 8;

function shown(ids: readonly number[], place: number): string {
  const start = Math.max(0, place - 2);
  const some = ids.slice(start, start + shownIds);
  const before = start > 0 ? ['...'] : [];
  const after = start + shownIds < ids.length ? ['...'] : [];
  return `[${[...before, ...some, ...after].join(', ')}]`;
}

const unfit = ({ url, dialect }: SamplingServer, what: string): ConfigError =>
  new ConfigError(
    `The tokenizer of the ${dialect.name} server ${url} is not that of model.model_path: ${what}. Start the server with the model of model.model_path, or set model_path to the model that it serves; if its model is the same, start it with --skip-tokenizer-init.`,
    { code: 'SAMPLER_VOCABULARY' },
  );
