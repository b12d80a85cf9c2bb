/**
 * Stand-in for the HTTP interface of a vLLM server with a small model, limited to the requests of a run. It also
 * answers as SGLang.
 */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import { deriveSeed } from '@trinity-rft/core';
import type { Engine, SampledSequence } from '@trinity-rft/core/engine';
import { sglangRoutes, type Json, type Routes } from './sglang-routes.js';

export interface VllmStandInOptions {
  /** Opens the initial model of the server, or the model of a folder. */
  readonly open: (folder: string | undefined) => Promise<Engine>;
  readonly vocabSize: number;
  /** Maximum number of tokens of prompt and completion together. @default 65 */
  readonly maxModelLen?: number;
  /**
   * Key that requests must contain.
   * @default no key is required
   */
  readonly apiKey?: string;
  /**
   * True to act as if started with `--logprobs-mode processed_logprobs`.
   * @default true
   */
  readonly processed?: boolean;
  /**
   * True to act as if started with `--enable-scale-out`.
   * @default true
   */
  readonly scaleOut?: boolean;
  /**
   * Tokenizer of the server; false to act as if started without one.
   * @default one token for every character
   */
  readonly tokenizer?: StandInTokenizer | false;
}

interface StandInTokenizer {
  encode(text: string): ArrayLike<number>;
  decode(ids: ArrayLike<number>): string;
}

const characters: StandInTokenizer = {
  encode: (text) => [...text].map((character) => character.codePointAt(0) ?? 0),
  decode: (ids) => String.fromCodePoint(...Array.from(ids)),
};

export interface StandInFault {
  /** HTTP status; undefined if the server never answers. */
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** Changes the answer to a request for tokens. */
  readonly change?: (answer: GeneratedAnswer) => unknown;
}

export interface GeneratedAnswer {
  readonly choices: readonly {
    readonly index: number;
    token_ids: number[];
    logprobs: { content: { token_id: number; logprob: number | null }[] };
    weight_versions: { version: string; start: number; end: number }[];
  }[];
}

export interface VllmStandIn {
  readonly url: string;
  /** Paths of the requests in order of arrival. */
  readonly requests: readonly string[];
  /** Names of the loaded adapters. */
  readonly adapters: ReadonlySet<string>;
  /** Number of completions in progress. */
  readonly writing: number;
  /** Sets the answers to the next requests for tokens, one fault per request. */
  fail(...faults: readonly StandInFault[]): void;
  /** Keeps connections open and stops answering, even to /health. */
  freeze(): void;
  /** False stops completions in progress after their first token; true continues them. */
  setWriting(goesOn: boolean): void;
  /** Kills the server, like `kill -9`. */
  kill(): Promise<void>;
  /** Starts the server again at the same address, with its initial weights. */
  restart(): Promise<void>;
  close(): Promise<void>;
}

interface Model {
  readonly engine: Engine;
  readonly label: string;
}

class Refusal extends Error {
  readonly status: number;
  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** Starts a server on a free port of 127.0.0.1. */
export async function vllmStandIn(options: VllmStandInOptions): Promise<VllmStandIn> {
  const { maxModelLen = 65, processed = true, scaleOut = true, tokenizer = characters } = options;
  const requests: string[] = [];
  const adapters = new Map<string, Model>();
  const faults: StandInFault[] = [];
  const gate = createGate();
  let base: Model = { engine: await options.open(undefined), label: 'default' };
  let isFrozen = false;
  let writing = 0;
  let server: Server;
  let port = 0;

  const modelOf = (name: unknown): (() => Model) => {
    if (name === undefined || name === 'tiny') return () => base;
    const adapter = adapters.get(name as string);
    if (!adapter) throw new Refusal(404, `The model \`${name as string}\` does not exist.`);
    return () => ({ ...adapter, label: base.label });
  };

  const withTokenizer = (): StandInTokenizer => {
    if (tokenizer) return tokenizer;
    throw new Refusal(500, 'It has no tokenizer.');
  };

  const generate = async (body: Json, gone: AbortSignal): Promise<unknown> => {
    if (!scaleOut)
      throw new Refusal(403, 'Scale-out endpoints are disabled. Restart with --enable-scale-out.');
    const prompt = Int32Array.from(body['token_ids'] as number[]);
    const params = body['sampling_params'] as Json;
    if (body['output_mode'] === 'text' && !tokenizer)
      throw new Refusal(400, "output_mode='text' requires a tokenizer");
    const odd = prompt.find((id) => id < 0 || id >= options.vocabSize);
    // A real server without a tokenizer crashes at such a token.
    if (odd !== undefined) throw new Refusal(400, `Token id ${odd} is out of vocabulary`);
    if (prompt.length >= maxModelLen) throw new Refusal(400, 'The decoder prompt is too long.');
    const model = modelOf(body['model']);
    const fault = faults.shift();
    if (fault && !fault.change && fault.status === undefined) return never(gone);
    if (fault?.status !== undefined)
      throw Object.assign(new Refusal(fault.status, 'a fault'), fault);
    const count = Number(params['n'] ?? 1);
    writing++;
    try {
      const choices = await Promise.all(
        Array.from({ length: count }, (_, choice) =>
          write(model, prompt, { params, choice, maxModelLen, gate, gone, processed }),
        ),
      );
      const wanted = params['prompt_logprobs'];
      const answer = {
        ...envelope,
        prompt_logprobs: typeof wanted === 'number' ? await promptLogprobs(model(), prompt) : null,
        choices: choices.map((choice, index) => ({ index, ...choice })),
      };
      return fault?.change ? fault.change(answer) : answer;
    } finally {
      writing--;
    }
  };

  const routes: Routes = {
    '/health': () => '',
    '/version': () => ({ version: '0.32.0' }),
    '/v1/models': () => ({
      object: 'list',
      data: [
        { id: 'tiny', object: 'model', parent: null, max_model_len: maxModelLen },
        ...[...adapters.keys()].map((id) => ({ id, object: 'model', parent: 'tiny' })),
      ],
    }),
    '/inference/v1/generate': generate,
    '/tokenize': ({ prompt }) => {
      const tokens = Array.from(withTokenizer().encode(String(prompt)));
      return { count: tokens.length, max_model_len: maxModelLen, tokens, token_strs: null };
    },
    '/detokenize': ({ tokens }) => ({ prompt: withTokenizer().decode(tokens as number[]) }),
    '/v1/load_lora_adapter': async (body) => {
      const name = String(body['lora_name']);
      if (adapters.has(name))
        throw new Refusal(400, `The lora adapter '${name}' has already been loaded.`);
      const folder = String(body['lora_path']);
      adapters.set(name, { engine: await options.open(path.dirname(folder)), label: name });
      return `Success: LoRA adapter '${name}' added successfully.`;
    },
    '/v1/unload_lora_adapter': (body) => {
      const name = String(body['lora_name']);
      if (!adapters.delete(name)) throw new Refusal(404, `The adapter ${name} cannot be found.`);
      return `Success: LoRA adapter '${name}' removed successfully.`;
    },
    '/pause?mode=keep': () => {
      gate.set('pause', false);
      return { status: 'paused' };
    },
    '/pause?mode=wait': async () => {
      while (writing > 0) await tick();
      gate.set('pause', false);
      return { status: 'paused' };
    },
    '/collective_rpc': async (body) => {
      const { weights_path: folder } = body['kwargs'] as Json;
      base = { ...base, engine: await options.open(String(folder)) };
      return { results: [null] };
    },
    '/update_weight_version': (body) => {
      base = { ...base, label: String(body['new_version']) };
      return { success: true, new_version: base.label };
    },
    '/resume': () => {
      gate.set('pause', true);
      return { status: 'resumed' };
    },
  };

  const allRoutes = { ...routes, ...sglangRoutes(routes) };

  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const url = request.url ?? '';
    requests.push(url);
    const gone = new AbortController();
    response.on('close', () => gone.abort());
    const body = await text(request);
    if (isFrozen) return;
    const send = (
      status: number,
      value: unknown,
      headers: Readonly<Record<string, string>> = {},
    ) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(value));
    };
    try {
      const key = `Bearer ${options.apiKey}`;
      if (options.apiKey !== undefined && request.headers.authorization !== key)
        throw new Refusal(401, 'Unauthorized');
      const route = allRoutes[url];
      if (!route) throw new Refusal(404, 'Not Found');
      const asked = body === '' ? {} : (JSON.parse(body) as Json);
      const value = await route(asked, gone.signal);
      if (isFrozen) return;
      if (asked['stream'] !== true) {
        send(200, value);
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream; charset=utf-8' });
      for (const event of eventsOf(value as GeneratedAnswer))
        response.write(`data: ${JSON.stringify(event)}\n\n`);
      response.end('data: [DONE]\n\n');
    } catch (error) {
      const { status = 500, headers } = error as {
        status?: number;
        headers?: StandInFault['headers'];
      };
      const { message } = error as Error;
      if (!response.destroyed) send(status, { error: { message, code: status } }, headers);
    }
  };

  const listen = async (): Promise<void> => {
    server = createServer((request, response) => void answer(request, response));
    await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
    ({ port } = server.address() as AddressInfo);
  };
  const kill = async (): Promise<void> => {
    const closed = new Promise<void>((resolve) => server.close(() => resolve()));
    server.closeAllConnections();
    await closed;
  };
  await listen();

  return {
    get url() {
      return `http://127.0.0.1:${port}`;
    },
    requests,
    get adapters() {
      return new Set(adapters.keys());
    },
    get writing() {
      return writing;
    },
    fail: (...more) => void faults.push(...more),
    freeze: () => {
      isFrozen = true;
    },
    setWriting: (goesOn) => gate.set('test', goesOn),
    kill,
    restart: async () => {
      adapters.clear();
      isFrozen = false;
      base = { engine: await options.open(undefined), label: 'default' };
      await listen();
    },
    close: kill,
  };
}

/** Fields of a real answer that a run does not read. */
const envelope = {
  request_id: 'generate-tokens-1',
  model: 'tiny',
  created: 0,
  usage: null,
  output_mode: 'tokens',
};

interface Writing {
  readonly params: Json;
  readonly choice: number;
  readonly maxModelLen: number;
  readonly gate: Gate;
  readonly gone: AbortSignal;
  readonly processed: boolean;
}

/** One event for each token; the last event of a choice has its finish reason. */
function* eventsOf({ choices }: GeneratedAnswer): Generator<object> {
  for (const { index, token_ids: tokens, logprobs, ...end } of choices)
    for (const [i, token] of tokens.entries()) {
      const isLast = i === tokens.length - 1;
      const part = { token_ids: [token], logprobs: { content: [logprobs.content[i]] } };
      const last = isLast ? end : { finish_reason: null, stop_reason: null, weight_versions: null };
      yield { ...envelope, choices: [{ index, ...part, ...last }] };
    }
}

/** Writes token by token, because weights may change between two tokens. */
async function write(model: () => Model, prompt: Int32Array, options: Writing) {
  const { params, choice, maxModelLen, gate, gone } = options;
  const limit = Math.min(Number(params['max_tokens']), maxModelLen - prompt.length);
  const stops = new Set((params['stop_token_ids'] as number[] | undefined) ?? []);
  const seed = Number(params['seed'] ?? 0) + choice;
  const tokens: number[] = [];
  const content: ReturnType<typeof contentOf>[] = [];
  const labels: string[] = [];
  while (tokens.length < limit && !stops.has(tokens.at(-1) ?? -1)) {
    await tick();
    // A completion that the test stops still gets its first token.
    await gate.open(tokens.length > 0 ? ['pause', 'test'] : ['pause']);
    gone.throwIfAborted();
    const { engine, label } = model();
    const [drawn] = await engine.sampler.sample(Int32Array.of(...prompt, ...tokens), {
      maxTokens: 1,
      minTokens: Number(params['min_tokens'] ?? 0) > tokens.length ? 1 : 0,
      stopTokenIds: [...stops],
      temperature: Number(params['temperature'] ?? 1),
      topP: Number(params['top_p'] ?? 1),
      topK: Number(params['top_k'] ?? -1) || -1,
      topLogprobs: Math.max(1, Number(params['logprobs'] ?? 0)),
      seed: deriveSeed(seed, tokens.length),
    });
    if (!drawn) break;
    tokens.push(...drawn.tokens);
    content.push(contentOf(drawn, options.processed));
    labels.push(label);
  }
  const last = tokens.at(-1) ?? -1;
  const isStop = stops.has(last);
  return {
    finish_reason: isStop ? 'stop' : 'length',
    stop_reason: isStop ? last : null,
    token_ids: tokens,
    routed_experts: null,
    sampling_mask: null,
    weight_versions: spansOf(labels),
    logprobs: { content },
  };
}

function contentOf({ tokens, logprobs, topLogprobs = [] }: SampledSequence, processed: boolean) {
  const top = (topLogprobs[0] ?? []).map(({ token, logprob }) => ({
    token_id: token,
    logprob,
    rank: 1,
  }));
  const logprob = processed ? (logprobs[0] ?? null) : (logprobs[0] ?? 0) - 1;
  return { token_id: tokens[0] ?? -1, logprob, rank: 1, top_logprobs: top };
}

function spansOf(labels: readonly string[]): { version: string; start: number; end: number }[] {
  const spans: { version: string; start: number; end: number }[] = [];
  for (const [i, version] of labels.entries()) {
    const last = spans.at(-1);
    if (last?.version === version) last.end = i + 1;
    else spans.push({ version, start: i, end: i + 1 });
  }
  return spans;
}

async function promptLogprobs({ engine }: Model, tokens: Int32Array): Promise<unknown> {
  if (tokens.length < 2) return [null];
  const scores = await engine.sampler.score?.({ tokens, promptLength: 1, temperature: 1 });
  return [...tokens].map((token, i) =>
    i === 0 ? null : { [token]: { logprob: scores?.[i - 1], rank: 1, decoded_token: null } },
  );
}

const never = (gone: AbortSignal): Promise<never> =>
  new Promise((_, reject) => gone.addEventListener('abort', () => reject(gone.reason as Error)));

const tick = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

interface Gate {
  set(who: string, isOpen: boolean): void;
  /** Resolves when none of the given names keeps the gate closed. */
  open(whoMay: readonly string[]): Promise<void>;
}

function createGate(): Gate {
  const closedBy = new Set<string>();
  let opened = Promise.withResolvers<void>();
  return {
    set: (who, isOpen) => {
      if (isOpen) closedBy.delete(who);
      else closedBy.add(who);
      opened.resolve();
      opened = Promise.withResolvers();
    },
    open: async (whoMay) => {
      while (whoMay.some((who) => closedBy.has(who))) await opened.promise;
    },
  };
}
