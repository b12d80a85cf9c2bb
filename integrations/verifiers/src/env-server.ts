/**
 * Client of a verifiers environment server, for one rollout. Messages are msgpack data in ZeroMQ
 * frames.
 */
import { decode, encode } from '@msgpack/msgpack';
import {
  ConfigError,
  describeError,
  EnvironmentError,
  CancelledError,
  systemClock,
} from '@trinity-rft/core';
import { z } from 'zod';

export interface RolloutRequest {
  /** Data of the task, as serialized by its verifiers taskset. */
  readonly taskData: Readonly<Record<string, unknown>>;
  readonly baseURL: string;
  readonly apiKey: string;
  readonly model: string;
  readonly sampling: Readonly<Record<string, unknown>>;
}

export interface RolloutOptions {
  /** Address of the environment server: `tcp://HOST:PORT`. */
  readonly address: string;
  /** Maximum wait for the server's first response, in ms. */
  readonly startMs: number;
  /** Timeout of the whole rollout, in ms. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

export interface RolloutVerdict {
  /** Reward of the rollout: the weighted sum of the scores. */
  readonly reward: number;
  /** Scores without weights, keyed by name. */
  readonly scores: Readonly<Record<string, number>>;
}

const setSchema = z.object({
  rewards: z
    .record(z.string(), z.object({ score: z.number(), weight: z.number().default(1) }).nullable())
    .optional(),
  ok: z.boolean().optional(),
});
const problemSchema = z.looseObject({
  type: z.string().optional(),
  message: z.string().optional(),
});
const deltaSchema = z.object({
  trace: z.string(),
  set: setSchema.optional(),
  errors: z.array(problemSchema).default([]),
});
const replySchema = z.object({
  success: z.boolean(),
  error: z.string().nullish(),
  head: z
    .object({ ok: z.boolean().optional(), errors: z.array(problemSchema).default([]) })
    .nullish(),
  traces: z.array(z.object({ id: z.string() })).default([]),
});
type Problem = z.infer<typeof problemSchema>;
type Reply = z.infer<typeof replySchema>;
type Rewards = NonNullable<z.infer<typeof setSchema>['rewards']>;

/**
 * Makes the server run the agent on a task, with the model at `baseURL`, and returns its scores.
 * @throws EnvironmentError if the server or the rollout fails; CancelledError if `signal` aborts;
 * ConfigError if zeromq is not installed
 */
export async function runRollout(
  request: RolloutRequest,
  options: RolloutOptions,
): Promise<RolloutVerdict> {
  const { Dealer } = await importZeromq();
  const socket = new Dealer({ linger: 0 });
  const client = new Client(socket, options.address);
  try {
    socket.connect(options.address);
    await client.ask('health', {}, { ms: options.startMs, signal: options.signal });
    return await client.run(request, options);
  } finally {
    socket.close();
  }
}

async function importZeromq() {
  try {
    return await import('zeromq');
  } catch (cause) {
    throw new ConfigError(
      'Environment servers of verifiers need the package zeromq. Install it: npm install zeromq.',
      { code: 'PACKAGE_MISSING', cause },
    );
  }
}

interface Socket {
  send(frames: (string | Uint8Array)[]): Promise<void>;
  receive(): Promise<Uint8Array[]>;
  close(): void;
}

class Client {
  readonly #socket: Socket;
  readonly #address: string;
  readonly #rewards = new Map<string, Rewards>();
  readonly #ok = new Map<string, boolean>();
  /** Problems that the server reported, including those of attempts that it retried. */
  readonly #errors: Problem[] = [];
  #requests = 0;

  constructor(socket: Socket, address: string) {
    this.#socket = socket;
    this.#address = address;
  }

  async run(request: RolloutRequest, { timeoutMs, signal }: RolloutOptions) {
    const { baseURL, apiKey, model, sampling, taskData } = request;
    // The key is not sent in `Authorization`, where the key of the environment server takes
    // precedence.
    const headers = { 'X-Rollout-Key': apiKey };
    const client = { type: 'eval', base_url: baseURL, api_key_var: 'TRINITY_RFT_NO_KEY', headers };
    const payload = { task_data: taskData, client, model, sampling };
    const reply = await this.ask('run', payload, { ms: timeoutMs, signal });
    return this.#verdict(reply);
  }

  /**
   * Sends a request and returns its reply.
   * @throws EnvironmentError if the server does not reply in time; CancelledError if `signal`
   * aborts
   */
  async ask(method: string, payload: object, { ms, signal }: { ms: number; signal: AbortSignal }) {
    const id = `${method}-${++this.#requests}`;
    const { promise, reject } = Promise.withResolvers<never>();
    const cancelTimer = systemClock.after(ms, () => reject(this.#silent(method, ms)));
    const onAbort = (): void => reject(cancelled(signal));
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      signal.throwIfAborted();
      await Promise.race([this.#socket.send([id, method, encode(payload)]), promise]);
      return await Promise.race([this.#reply(id), promise]);
    } catch (error) {
      // Cancels the rollout, which would otherwise continue and use the model.
      if (method === 'run')
        await this.#socket.send([`cancel-${id}`, 'cancel', encode({ request_id: id })]);
      throw error;
    } finally {
      cancelTimer();
      signal.removeEventListener('abort', onAbort);
    }
  }

  async #reply(id: string): Promise<Reply> {
    for (;;) {
      const [replyId, kind, data] = await this.#socket.receive();
      const isMine = replyId !== undefined && Buffer.from(replyId).toString() === id;
      if (!isMine || kind === undefined || data === undefined) throw this.#malformed('frames');
      if (Buffer.from(kind).toString() === 'reply') return this.#read(replySchema, data);
      this.#note(this.#read(deltaSchema, data));
    }
  }

  #note({ trace, set, errors }: z.infer<typeof deltaSchema>): void {
    this.#errors.push(...errors);
    if (set?.rewards) this.#rewards.set(trace, { ...this.#rewards.get(trace), ...set.rewards });
    if (set?.ok !== undefined) this.#ok.set(trace, set.ok);
  }

  #read<T>(schema: z.ZodType<T>, data: Uint8Array): T {
    try {
      return schema.parse(decode(data));
    } catch (error) {
      throw this.#malformed(describeError(error), error);
    }
  }

  /**
   * Computes the verdict from the server's reply and its earlier messages. `success` is not enough,
   * because it only means that the server completed the request.
   * @throws EnvironmentError if the rollout failed, or has no valid scores
   */
  #verdict({ success, error, head, traces }: Reply): RolloutVerdict {
    if (!success) throw this.#failed(error ?? 'it gave no reason');
    const problem = this.#errors.at(-1) ?? head?.errors.at(-1);
    const isOk = head?.ok === true && traces.every(({ id }) => this.#ok.get(id) === true);
    if (!isOk || traces.length === 0)
      throw this.#failed(
        problem === undefined ? 'it is not ok' : describeProblem(problem),
        problem !== undefined && isOfScoring(problem) ? ofGrade : {},
      );
    const scores = traces.flatMap(({ id }) => Object.entries(this.#rewards.get(id) ?? {}));
    let reward = 0;
    for (const [name, score] of scores) {
      if (score === null || !Number.isFinite(score.score)) throw this.#noVerdict(name);
      reward += score.score * score.weight;
    }
    if (scores.length === 0) throw this.#noVerdict('any');
    const named = scores.map(([name, score]) => [name, score?.score ?? 0] as const);
    return { reward, scores: Object.fromEntries(named) };
  }

  #silent(method: string, ms: number): EnvironmentError {
    const what =
      method === 'health'
        ? `No environment server of verifiers answers at ${this.#address} within ${ms / 1000} s. Start it, or correct workflow_args.address.`
        : `${this.#address} did not end a rollout within ${ms / 1000} s. See the server's log, or raise workflow_args.timeout.`;
    return new EnvironmentError(what, {
      code: method === 'health' ? 'ENVIRONMENT_UNREACHABLE' : 'ENVIRONMENT_DEADLINE',
    });
  }

  #malformed(what: string, cause?: unknown): EnvironmentError {
    return new EnvironmentError(
      `${this.#address} sent what is no answer of an environment server of verifiers 0.4: ${what}.`,
      { code: 'ENVIRONMENT_ANSWER', cause },
    );
  }

  #failed(why: string, details = {}): EnvironmentError {
    return new EnvironmentError(
      `The rollout on ${this.#address} failed: ${why}. See the server's log.`,
      { code: 'ENVIRONMENT_SERVER', details },
    );
  }

  #noVerdict(name: string): EnvironmentError {
    return new EnvironmentError(
      `The rollout on ${this.#address} ended without ${name === 'any' ? 'a reward' : `the reward "${name}"`}. See the server's log.`,
      { code: 'ENVIRONMENT_NO_VERDICT', details: ofGrade },
    );
  }
}

/**
 * Details of errors of the code or the services that score. The explorer then drops rows that cannot
 * be scored while others are.
 */
const ofGrade = { action: 'grade' };

/** Returns true for the `TaskError`s that verifiers raises while it scores, but not at a setup. */
const isOfScoring = ({ type, message = '' }: Problem): boolean =>
  type === 'TaskError' && /^(?:task \S+ )?scoring\b/.test(message);

const describeProblem = (problem: Problem): string =>
  problem.message === undefined
    ? JSON.stringify(problem)
    : `${problem.type ?? 'Error'}: ${problem.message}`;

function cancelled({ reason }: AbortSignal): Error {
  if (reason instanceof CancelledError) return reason;
  return new CancelledError('The run has ended.', { reason: 'aborted', cause: reason });
}
