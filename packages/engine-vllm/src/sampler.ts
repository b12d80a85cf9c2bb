/** A sampler that delegates its calls to several servers of the same kind, such as vLLM. */
import { randomUUID } from 'node:crypto';
import { stat } from 'node:fs/promises';
import {
  ConfigError,
  describeError,
  ModelError,
  CheckpointError,
  createRandom,
  EngineError,
  throwIfAborted,
} from '@trinity-rft/core';
import type {
  RemoteSampler,
  SamplerOptions,
  ServerAddress,
  SampledSequence,
  SamplingOptions,
  TokenListener,
  TokenRow,
  VersionSpan,
} from '@trinity-rft/core/engine';
import { beginWait } from '@trinity-rft/core/support';
import { vllmServer, type SamplingServer } from './servers/calls.js';
import { createReplica, type Replica } from './servers/replica.js';
import { readVocabSize } from './model-config.js';
import { createPool, type Pool } from './servers/pool.js';
import { startedRight, type ServerFacts } from './servers/start.js';
import { weightsOnServer, type InUse, type Weights } from './servers/weights.js';
import { ServerFault } from './wire/fault.js';
import type { GeneratedChoice } from './wire/generate.js';

/**
 * Maximum time to wait for the first response of a server that is still starting, in milliseconds.
 */
const startPatienceMs = 120_000;
const startPauseMs = 1000;
const textLength = 24;

/** Weights with which the servers were started, in use until the first delivery. */
const started: Weights = { version: -1, label: 'default', folder: undefined };

/**
 * Opens a sampler that uses the vLLM servers in `options`. Rejects if a server does not respond.
 */
export const openVllmSampler = (options: SamplerOptions): Promise<RemoteSampler> =>
  openSampler(vllmServer, options);

type Connect = (address: ServerAddress) => SamplingServer;

/**
 * Opens a sampler that uses the servers in `options`. Rejects if a server does not respond.
 * @param connect creates the client of one server
 */
export async function openSampler(
  connect: Connect,
  options: SamplerOptions,
): Promise<RemoteSampler> {
  const vocabSize = await readVocabSize(options.modelPath);
  const failed = new AbortController();
  const signal = AbortSignal.any([failed.signal, ...(options.signal ? [options.signal] : [])]);
  const opened = await Promise.all(
    options.servers.map((address) => openServer(connect(address), options, { vocabSize, signal })),
  ).catch((error: unknown) => {
    failed.abort(error);
    throw error;
  });
  const maxModelLen = options.maxModelLen ?? Math.min(...opened.map((one) => one.maxModelLen));
  const random = createRandom(1);
  const length = Math.min(textLength, maxModelLen);
  const { tolerance, timeoutMs, clock, logger } = options;
  const pool = createPool({
    replicas: opened.map(({ replica }) => replica),
    started,
    text: Int32Array.from({ length }, () => random.integer(vocabSize)),
    tolerance,
    timeoutMs,
    clock,
    logger,
  });
  return samplerOver(pool, { vocabSize, maxModelLen });
}

interface OpenedServer {
  readonly replica: Replica;
  readonly maxModelLen: number;
}

/** Calls a server repeatedly until it responds, for at most `startPatienceMs` in total. */
async function openServer(
  server: SamplingServer,
  options: SamplerOptions,
  { vocabSize, signal }: { readonly vocabSize: number; readonly signal: AbortSignal },
): Promise<OpenedServer> {
  const { maxModelLen, vocabulary, clock } = options;
  const needs = { maxModelLen, vocabSize, vocabulary };
  let problem: unknown = new Error('it neither answers nor refuses the connection');
  const what = `the ${server.dialect.name} server ${server.url} to start`;
  const endWait = beginWait(options, what, () => describeError(problem));
  const limit = new AbortController();
  const stopLimit = clock.after(startPatienceMs, () => limit.abort());
  const ended = AbortSignal.any([limit.signal, signal]);
  try {
    for (;;) {
      try {
        return serverWith(server, await startedRight(server, needs, ended), options);
      } catch (error) {
        if (error instanceof ConfigError) throw error;
        signal.throwIfAborted();
        if (limit.signal.aborted) throw unreachable(server, problem);
        problem = error;
        await clock.sleep(startPauseMs, signal);
      }
    }
  } finally {
    stopLimit();
    endWait();
  }
}

const unreachable = ({ url, dialect }: SamplingServer, cause: unknown): ConfigError =>
  new ConfigError(
    `The ${dialect.name} server ${url} did not answer within ${startPatienceMs / 1000} s: ${describeError(cause)}. Start it (\`trinity config plan\` prints the command), or correct base_url.`,
    { code: 'SAMPLER_UNREACHABLE', cause },
  );

function serverWith(
  server: SamplingServer,
  { name: modelName, maxModelLen, hasTokenizer, otherTokens }: ServerFacts,
  { vocabulary, lora = false, inFlight = 'finish', clock, logger }: SamplerOptions,
): OpenedServer {
  const { url, dialect } = server;
  if (otherTokens !== undefined)
    logger.info(`The ${dialect.name} server ${url} cuts texts differently: ${otherTokens}.`);
  if (vocabulary && !hasTokenizer)
    logger.info(
      `The ${dialect.name} server ${url} was started without a tokenizer, so its vocabulary is not compared.`,
    );
  const weights = weightsOnServer({
    ...{ server, modelName, lora, started },
    inFlight: dialect.continues ? inFlight : 'finish',
    onLeftover: (error) => logger.debug(`An adapter stays on ${url}: ${describeError(error)}`),
  });
  const replica = createReplica({ server, weights, hasTokenizer, clock, logger });
  return { replica, maxModelLen: maxModelLen - dialect.spareTokens };
}

interface Limits {
  readonly vocabSize: number;
  readonly maxModelLen: number;
}

function samplerOver(pool: Pool, { vocabSize, maxModelLen }: Limits): RemoteSampler {
  const run = randomUUID().slice(0, 8);
  const versions = new Map([[started.label, started.version]]);
  let deliveries = 0;
  return {
    maxModelLen,
    get policyVersion() {
      return pool.weights.version;
    },
    sample: async (prompt, options, signal, onTokens) => {
      throwIfAborted(signal);
      const { maxTokens } = options;
      const room = assertPrompt(prompt, vocabSize, maxModelLen);
      const limited = { ...options, maxTokens: Math.min(maxTokens, room) };
      const reported: number[][] = [];
      const work = async (replica: Replica, use: InUse, ended: AbortSignal) => {
        assertStops(replica, options);
        const { model } = use;
        const reportNew = onTokens && reportOnce(reported, onTokens);
        const request = { model, prompt, options: limited, vocabSize, onTokens: reportNew };
        const choices = await orStale(use, replica.server.generate(request, ended));
        return choices.map((choice) => sequenceOf(choice, use, versions));
      };
      return pool.run(prompt, work, signal);
    },
    adopt: async (source, version) => {
      if (source.kind === 'published')
        throw new EngineError('Servers take weights from folders only.', { code: 'NOT_PUBLISHED' });
      const { directory, probe } = source;
      await assertCheckpoint(directory);
      const label = `trinity-${run}-${++deliveries}-v${version}`;
      versions.set(label, version);
      await pool.deliver({ version, label, folder: directory, probe });
    },
    score: async (row, signal) => {
      throwIfAborted(signal);
      assertRow(row, vocabSize, maxModelLen);
      const work = async (replica: Replica, use: InUse, ended: AbortSignal) => {
        const scores = await orStale(use, replica.server.score(use.model, row, ended));
        for (const label of labelsOf(use, scores.labels)) versionOf(label, use, versions);
        return scores.logprobs;
      };
      return pool.run(row.tokens, work, signal);
    },
    close: () => pool.close(),
  };
}

/**
 * Wraps `onTokens` to leave out tokens that have already been reported. After a server fails,
 * another one samples the same tokens again, using the same seed.
 * @param reported tokens that have been reported, for each choice; updated by the wrapper
 */
function reportOnce(reported: number[][], onTokens: TokenListener): TokenListener {
  const drawn: number[] = [];
  return (choice, tokens) => {
    const before = (reported[choice] ??= []);
    const start = drawn[choice] ?? 0;
    drawn[choice] = start + tokens.length;
    const known = before.slice(start, start + tokens.length);
    if (known.some((token, i) => token !== tokens[i]))
      throw new ModelError(
        'The server that sampled was lost, and another draws other tokens than have been streamed already. Ask again.',
        { code: 'STREAM_LOST', status: 502, retryable: true },
      );
    const fresh = tokens.slice(known.length);
    before.push(...fresh);
    if (fresh.length > 0) onTokens(choice, fresh);
  };
}

/**
 * Converts a 404 response to a fault of kind `stale`, which means that the server no longer has the
 * weights that the call uses.
 */
async function orStale<T>({ weights }: InUse, call: Promise<T>): Promise<T> {
  try {
    return await call;
  } catch (error) {
    if (!(error instanceof ServerFault) || error.status !== 404) throw error;
    throw new ServerFault('stale', `no longer has the weights of version ${weights.version}`);
  }
}

/**
 * Returns the labels of a response, or none if the call used an adapter, because labels identify
 * sets of all weights.
 */
const labelsOf = <T>({ weights, model }: InUse, labels: readonly T[]): readonly T[] =>
  model === weights.label ? [] : labels;

/**
 * Returns the version of the weights with this label.
 * @throws ServerFault if this sampler has not delivered them, or if they are those with which the
 * server was started although the call uses delivered ones: the server was then restarted
 */
function versionOf(label: string, { weights }: InUse, versions: ReadonlyMap<string, number>) {
  const version = versions.get(label);
  if (version !== undefined && (label !== started.label || weights.label === label)) return version;
  throw new ServerFault('stale', `samples with weights that this run did not bring, "${label}"`);
}

/**
 * Returns the sampled sequence of a choice, with the version of the weights that sampled each part
 * of it.
 * @throws ServerFault if the choice was sampled with weights that the call cannot have used
 */
function sequenceOf(
  { labels, ...choice }: GeneratedChoice,
  use: InUse,
  versions: ReadonlyMap<string, number>,
): SampledSequence {
  const spans = labelsOf(use, labels).map(({ label, start, end }): VersionSpan => ({
    ...{ start, end },
    policyVersion: versionOf(label, use, versions),
  }));
  if (spans.length === 0) return { ...choice, policyVersion: use.weights.version };
  const oldest = Math.min(...spans.map((span) => span.policyVersion));
  const versionsOf = spans.length > 1 ? { versions: spans } : {};
  return { ...choice, policyVersion: oldest, ...versionsOf };
}

function assertStops({ hasTokenizer, server }: Replica, { stop = [] }: SamplingOptions): void {
  if (stop.length === 0 || hasTokenizer) return;
  throw new ModelError(
    `The ${server.dialect.name} server ${server.url} finds no stop strings, because it was started with --skip-tokenizer-init. Start it without, or send no stop.`,
    { code: 'STOP_UNSUPPORTED', status: 400 },
  );
}

/**
 * Checks a prompt, and returns how many tokens the response may have.
 * @throws ModelError 400 if the prompt is empty, leaves no room for a response, or has an unknown
 * token id
 */
function assertPrompt(prompt: Int32Array, vocabSize: number, maxModelLen: number): number {
  const room = maxModelLen - prompt.length;
  if (prompt.length === 0 || room <= 0)
    throw new ModelError(
      `The prompt has ${prompt.length} tokens and the model's limit for prompt and response is ${maxModelLen}. ${room <= 0 ? 'Shorten the prompt' : 'Send at least one token'}.`,
      { code: 'PROMPT_TOO_LONG', status: 400 },
    );
  assertKnown(prompt, vocabSize);
  return room;
}

/** Checks token ids, because an id outside the vocabulary can crash a server. */
function assertKnown(tokens: Int32Array, vocabSize: number): void {
  const odd = tokens.findIndex((token) => token < 0 || token >= vocabSize);
  if (odd < 0) return;
  throw new ModelError(
    `Token ${odd} has the id ${tokens[odd]}, and the model knows the ids 0 to ${vocabSize - 1}. Tokenizer and model do not belong together.`,
    { code: 'TOKEN_UNKNOWN', status: 400 },
  );
}

function assertRow(
  { tokens, promptLength, temperature }: TokenRow,
  vocabSize: number,
  maxModelLen: number,
): void {
  const wrong = (message: string): ModelError =>
    new ModelError(message, { code: 'ROW_INVALID', status: 400 });
  if (temperature !== 1)
    throw wrong(
      `Servers score texts at temperature 1 only; got ${temperature}. Set temperature: 1.`,
    );
  if (!Number.isInteger(promptLength) || promptLength < 1 || promptLength >= tokens.length)
    throw wrong(
      `promptLength is ${promptLength} with ${tokens.length} tokens; expected 1 <= promptLength < tokens.length.`,
    );
  if (tokens.length > maxModelLen)
    throw wrong(`The text has ${tokens.length} tokens; at most ${maxModelLen} can be scored.`);
  assertKnown(tokens, vocabSize);
}

async function assertCheckpoint(directory: string): Promise<void> {
  const found = await stat(directory).catch(() => undefined);
  if (found?.isDirectory()) return;
  throw new CheckpointError(`There is no checkpoint folder ${directory}.`, {
    code: 'CHECKPOINT_MISSING',
  });
}
