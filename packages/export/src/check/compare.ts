/** Runs prompts through the checkpoint and through its export, and measures the differences. */
import type { ChatFormat, NormalMessage, ParsedTurn } from '@trinity-rft/chat';
import { EngineError } from '@trinity-rft/core';
import type { PlayedPrompt, Player } from './player.js';

/** A share as two counts: `equal` items out of `of`. */
export interface Share {
  readonly equal: number;
  readonly of: number;
}

export interface Parity {
  /**
   * Share of prompts that the export's runtime renders exactly as the checkpoint's template does.
   * Prompts that the template rejects are not counted.
   */
  readonly renderedPrompts: Share;
  /**
   * Number of prompts that were not compared, because they contain characters that the tokenizer
   * cannot encode or leave no room for a response.
   */
  readonly leftOut: number;
  /** Share of compared prompts that both tokenizers encode as the same token ids. */
  readonly tokenIds: Share;
  /**
   * Number of tokens whose log-probabilities were compared, in prompts and in the checkpoint's
   * greedy responses.
   */
  readonly positions: number;
  /** Mean absolute difference of log-probabilities over these tokens, in nats. */
  readonly meanDifference: number;
  readonly largestDifference: number;
  /**
   * Share of the tokens in the checkpoint's greedy responses that are the export's most probable
   * token at the same position. Undefined if the runtime does not report most probable tokens.
   */
  readonly bestTokens?: Share;
  readonly greedyTexts: Share;
  /** Share of greedy responses in which both models make the same tool calls, after parsing. */
  readonly toolCalls: Share;
  /**
   * Share of the checkpoint's greedy responses with tool calls whose tokens stay the same when the
   * template renders the parsed response again, followed by results, as programs do at the next
   * turn. Responses are not counted if they do not end within 256 tokens, or if the template prints
   * the ids of calls, which the model does not know. Undefined if no tool calls are parsed.
   */
  readonly renderedAgain?: Share;
  /**
   * Speed of the export during greedy decoding, in response tokens per second. The time includes
   * the evaluation of prompts.
   */
  readonly tokensPerSecond: number;
}

interface CompareOptions {
  /**
   * Chat format whose tool call parser is applied to the responses of both models. It is the parser
   * of the training run.
   */
  readonly format: ChatFormat;
  /** True if the format has a tool call parser. */
  readonly parsesCalls: boolean;
  /** Maximum number of tokens of a greedy response. */
  readonly answerTokens: number;
  /** Maximum number of tokens of prompt and response together. */
  readonly mostTokens: number;
  readonly signal?: AbortSignal;
  readonly onPrompt?: (done: number, of: number) => void;
}

interface Sums {
  rendered: number;
  renderedEqual: number;
  played: number;
  leftOut: number;
  idsEqual: number;
  positions: number;
  difference: number;
  largest: number;
  answerTokens: number;
  bestEqual: number;
  knowsBest: boolean;
  textsEqual: number;
  callsEqual: number;
  withCalls: number;
  renderedAgain: number;
  tokens: number;
  seconds: number;
}

/**
 * Compares rendered prompts, token ids, log-probabilities and greedy responses. Both models are
 * given the token ids of the checkpoint's tokenizer.
 * @throws EngineError naming prompt and position if a log-probability is not finite
 */
export async function compare(
  checkpoint: Player,
  exported: Player,
  prompts: readonly PlayedPrompt[],
  options: CompareOptions,
): Promise<Parity> {
  const sums: Sums = {
    rendered: 0,
    renderedEqual: 0,
    played: 0,
    leftOut: 0,
    idsEqual: 0,
    positions: 0,
    difference: 0,
    largest: 0,
    answerTokens: 0,
    bestEqual: 0,
    knowsBest: true,
    textsEqual: 0,
    callsEqual: 0,
    withCalls: 0,
    renderedAgain: 0,
    tokens: 0,
    seconds: 0,
  };
  for (const [i, prompt] of prompts.entries()) {
    options.signal?.throwIfAborted();
    await playPrompt({ checkpoint, exported, prompt, place: `prompt ${i + 1}` }, options, sums);
    options.onPrompt?.(i + 1, prompts.length);
  }
  const { positions, played } = sums;
  return {
    renderedPrompts: { equal: sums.renderedEqual, of: sums.rendered },
    leftOut: sums.leftOut,
    tokenIds: { equal: sums.idsEqual, of: played },
    positions,
    meanDifference: positions === 0 ? 0 : sums.difference / positions,
    largestDifference: sums.largest,
    ...(sums.knowsBest && { bestTokens: { equal: sums.bestEqual, of: sums.answerTokens } }),
    greedyTexts: { equal: sums.textsEqual, of: played },
    toolCalls: { equal: sums.callsEqual, of: played },
    ...(options.parsesCalls && {
      renderedAgain: { equal: sums.renderedAgain, of: sums.withCalls },
    }),
    tokensPerSecond: sums.seconds === 0 ? 0 : sums.tokens / sums.seconds,
  };
}

interface Play {
  readonly checkpoint: Player;
  readonly exported: Player;
  readonly prompt: PlayedPrompt;
  readonly place: string;
}

async function playPrompt(play: Play, options: CompareOptions, sums: Sums): Promise<void> {
  const { checkpoint, exported, prompt, place } = play;
  const { format, answerTokens, mostTokens } = options;
  const text = prompt.text ?? (await rendered(checkpoint, prompt));
  if (text === undefined) return;
  if (prompt.text === undefined) {
    sums.rendered++;
    if (text === (await rendered(exported, prompt))) sums.renderedEqual++;
  }
  const ids = checkpoint.encode(text);
  if (ids.length >= mostTokens || ids.includes(unknownId(format))) {
    sums.leftOut++;
    return;
  }
  sums.played++;
  const same = isSame(ids, exported.encode(text));
  if (same) sums.idsEqual++;
  const room = mostTokens - ids.length;
  const mostFirst = Math.min(answerTokens, room);
  const answer = await checkpoint.greedy(ids, mostFirst);
  const all = Int32Array.from([...ids, ...answer]);
  const before = performance.now();
  const other = await exported.greedy(ids, mostFirst);
  sums.seconds += (performance.now() - before) / 1000;
  sums.tokens += other.length;
  await addScores({ checkpoint, exported, all, answer, place }, sums);
  // The decoders may differ in added tokens, so equal tokens are not decoded.
  if (isSame(answer, other) || checkpoint.decode(answer) === exported.decode(other))
    sums.textsEqual++;
  // It is not known whether a recorded prompt has tools.
  const tools = prompt.tools?.length ? prompt.tools : prompt.text !== undefined;
  const read = (tokens: Int32Array): ParsedTurn =>
    format.readTurn(tokens, { tools, promptIds: ids });
  const calls = (tokens: Int32Array): string =>
    JSON.stringify(read(tokens).toolCalls.map(({ name, arguments: args }) => [name, args]));
  if (calls(answer) === calls(other)) sums.callsEqual++;
  if (!options.parsesCalls || tools === false) return;
  const most = Math.min(Math.max(answerTokens, callTokens), room);
  const isCut = answer.length === mostFirst && answer.length < most;
  const rest = isCut ? await checkpoint.greedy(all, most - answer.length) : [];
  const whole = Int32Array.from([...answer, ...rest]);
  const isSameAgain =
    whole.length < most ? rendersAgain(prompt, { whole, turn: read(whole), format }) : undefined;
  if (isSameAgain !== undefined) sums.withCalls++;
  if (isSameAgain) sums.renderedAgain++;
}

/** Maximum number of tokens of a response whose tool calls are rendered again. */
const callTokens = 256;

interface Answered {
  /** Token ids of the response, without the end-of-sequence token. */
  readonly whole: Int32Array;
  readonly turn: ParsedTurn;
  readonly format: ChatFormat;
}

/**
 * Returns true if the tokens of a response stay the same at the next turn, where the template
 * renders it before the results of its calls. Returns undefined if there is nothing to compare. The
 * messages of a recorded prompt are not known, so its response follows another question.
 */
function rendersAgain(
  { messages: given, tools, text }: PlayedPrompt,
  { whole, turn, format }: Answered,
): boolean | undefined {
  if (turn.toolCalls.length === 0 || turn.malformedToolCalls > 0) return undefined;
  const messages: readonly NormalMessage[] =
    text === undefined ? given : [{ role: 'user', content: '1' }];
  if (messages.at(-1)?.role === 'assistant') return undefined;
  const calls = turn.toolCalls.map((call, index) => ({
    id: format.toolCallId({ call: 0, choice: 0, index }),
    type: 'function' as const,
    function: call,
  }));
  const response: NormalMessage = {
    role: 'assistant',
    content: turn.text,
    ...(turn.reasoning !== undefined && { reasoning_content: turn.reasoning }),
    tool_calls: calls,
  };
  const results = calls.map(({ id, function: { name } }): NormalMessage => ({
    role: 'tool',
    content: `result of ${id}`,
    tool_call_id: id,
    name,
  }));
  const before = tried(() => format.render({ messages, tools }));
  const again = tried(() =>
    format.render({ messages: [...messages, response, ...results], tools }),
  );
  if (before === undefined || again === undefined) return undefined;
  const upToResults = again.slice(0, again.indexOf(results[0]?.content ?? ''));
  if (calls.some(({ id }) => upToResults.includes(id))) return undefined;
  const expected = Int32Array.from([...format.encode(before), ...whole]);
  return isSame(format.encode(again).subarray(0, expected.length), expected);
}

const tried = (render: () => string): string | undefined => {
  try {
    return render();
  } catch {
    return undefined;
  }
};

async function addScores(
  {
    checkpoint,
    exported,
    all,
    answer,
    place,
  }: Omit<Play, 'prompt'> & { readonly all: Int32Array; readonly answer: Int32Array },
  sums: Sums,
): Promise<void> {
  if (all.length < 2) return;
  const [ours, theirs] = [await checkpoint.score(all), await exported.score(all)];
  const first = all.length - answer.length - 1;
  sums.knowsBest &&= theirs.best !== undefined;
  for (let i = 0; i < ours.logprobs.length; i++) {
    const difference = Math.abs((ours.logprobs[i] ?? NaN) - (theirs.logprobs[i] ?? NaN));
    if (!Number.isFinite(difference))
      throw new EngineError(
        `The log-probability of token ${i + 1} of ${place} is not finite: checkpoint ${ours.logprobs[i]}, export ${theirs.logprobs[i]}.`,
        { code: 'EXPORT_SCORE' },
      );
    sums.positions++;
    sums.difference += difference;
    sums.largest = Math.max(sums.largest, difference);
    if (i < first) continue;
    sums.answerTokens++;
    if (theirs.best?.[i] === all[i + 1]) sums.bestEqual++;
  }
}

/** Returns the id of the unknown token, or -1 if the tokenizer has no such token. */
export function unknownId({ tokenizer }: ChatFormat): number {
  const { unk_token: unknown } = tokenizer.specialTokens;
  return unknown === undefined ? -1 : (tokenizer.tokenToId(unknown) ?? -1);
}

/** Renders a prompt. Resolves with undefined if the template rejects it. */
async function rendered(player: Player, prompt: PlayedPrompt): Promise<string | undefined> {
  try {
    return await player.render(prompt);
  } catch {
    return undefined;
  }
}

const isSame = (a: Int32Array, b: Int32Array): boolean =>
  a.length === b.length && a.every((id, i) => id === b[i]);
