/** The error classes, one per area, and functions that read, describe and convert errors. */
import { nodeVersionFault } from './node-version.js';

const marker = Symbol.for('trinity-rft.error');

export type ErrorDetails = Readonly<Record<string, unknown>>;

export interface TrinityErrorOptions {
  /** Stable, documented identifier in upper snake case: `BUFFER_CLOSED`. */
  readonly code?: string;
  /** Ids and numbers for programs; must not contain prompt text or secrets. */
  readonly details?: ErrorDetails;
  readonly cause?: unknown;
}

/**
 * Base of every error of Trinity. The message says what happened, what was expected and what to do.
 * Use {@link TrinityError.is} instead of `instanceof`, because it also recognises errors of another
 * installed copy of the package.
 */
export class TrinityError extends Error {
  readonly code: string;
  readonly details: ErrorDetails;
  /** True if repeating the same call may succeed. */
  readonly retryable: boolean = false;
  readonly [marker] = true;

  constructor(message: string, options: TrinityErrorOptions = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    this.code = options.code ?? 'ERROR';
    this.details = options.details ?? {};
  }

  static is(error: unknown): error is TrinityError {
    try {
      return typeof error === 'object' && error !== null && marker in error;
    } catch {
      return false;
    }
  }
}

/**
 * The user's configuration is wrong; the message names the file, position, key, value and fix. Exit
 * code 2.
 */
export class ConfigError extends TrinityError {}

// The version is checked on import, because a missing feature would cause an obscure error later.
const nodeFault = nodeVersionFault(process.versions.node);
if (nodeFault !== undefined) throw new ConfigError(nodeFault, { code: 'NODE_VERSION' });

/** A task, task set or data file is wrong. Exit code 2 if it is found before the run starts. */
export class TaskError extends TrinityError {}
/** The user's workflow threw, hung, or returned a value that is not a list of experiences. */
export class WorkflowError extends TrinityError {}
/** The user's reward function threw or returned no usable reward. */
export class RewardError extends TrinityError {}
/**
 * An environment, or the server or process behind it, failed. Such a failure does not depend on the
 * policy, so the rollout is retried. If the retries fail too, the rollout is counted but not
 * trained on. If an action broke the environment, `details.step` is the number of the step, and
 * `details.action` is a hash of the action.
 */
export class EnvironmentError extends TrinityError {
  override readonly retryable: boolean = true;
}
/** The experience store or a task source failed. */
export class BufferError extends TrinityError {}
/** Weights could not be transferred from the trainer to an explorer. */
export class SyncError extends TrinityError {}
/** The engine rejected a request, or failed (wrong shapes, non-finite numbers, a dead worker). */
export class EngineError extends TrinityError {}
/** A checkpoint or model folder could not be written or read. */
export class CheckpointError extends TrinityError {}
/** An internal invariant does not hold: a bug in Trinity. */
export class InvariantError extends TrinityError {}

/** A model call failed. `status` is the HTTP status that a client would see. */
export class ModelError extends TrinityError {
  readonly status: number;
  override readonly retryable: boolean;

  constructor(
    message: string,
    options: TrinityErrorOptions & { readonly status: number; readonly retryable?: boolean },
  ) {
    super(message, options);
    this.status = options.status;
    this.retryable = options.retryable ?? false;
  }
}

export type CancelReason = 'timeout' | 'shutdown' | 'stale' | 'aborted';

/** Work was stopped on purpose. */
export class CancelledError extends TrinityError {
  readonly reason: CancelReason;

  constructor(message: string, options: TrinityErrorOptions & { readonly reason: CancelReason }) {
    super(message, options);
    this.reason = options.reason;
  }
}

/** Fields of errors that Trinity and client libraries read. */
const errorFields = ['name', 'message', 'stack', 'code', 'status', 'statusCode', 'errors'];

/**
 * Returns the thrown value, or a substitute error if reading its fields throws, as a Proxy or a
 * getter may do. Use this function for values that foreign code has thrown.
 */
export function readableThrown(thrown: unknown): unknown {
  try {
    let current: unknown = thrown;
    for (let depth = 0; depth < maxCauses && isObject(current); depth++) {
      // Reads all fields that error handlers read.
      void (current instanceof Error && marker in current);
      const fields = current as Readonly<Record<string, unknown>>;
      for (const name of errorFields) void fields[name];
      current = fields['cause'];
    }
    return thrown;
  } catch (error) {
    const why = isObject(error) ? '' : `: ${String(error)}`;
    return new TypeError(
      `Something was thrown that cannot be read, such as a Proxy or an error whose message is computed${why}. Throw an Error.`,
    );
  }
}

const isObject = (value: unknown): value is object =>
  (typeof value === 'object' || typeof value === 'function') && value !== null;

/** Maximum number of errors that are read from a chain of causes. A chain may be circular. */
export const maxCauses = 8;

/**
 * Returns the error and its causes, outermost first. Returns an empty list if the value is not an
 * `Error`.
 */
export function causesOf(thrown: unknown): readonly Error[] {
  const chain: Error[] = [];
  for (
    let current = thrown;
    current instanceof Error && chain.length < maxCauses;
    current = current.cause
  )
    chain.push(current);
  return chain;
}

/**
 * Maximum number of characters in one message: a server may respond with megabytes, which every log
 * would repeat.
 */
const longestMessage = 8_000;

/** Returns the text, or its beginning and the number of missing characters. */
export const boundedText = (text: string, longest = longestMessage): string =>
  text.length <= longest
    ? text
    : `${text.slice(0, longest)}… (${text.length - longest} more characters)`;

/**
 * Joins the messages of an error and its causes into one text for people. Leaves out a cause that
 * an earlier message quotes. Does not throw.
 */
export function describeError(thrown: unknown): string {
  const error = readableThrown(thrown);
  const parts: string[] = [];
  let current: unknown = error;
  for (let depth = 0; depth < maxCauses && current !== undefined && current !== null; depth++) {
    const message = boundedText(messageOf(current));
    if (!parts.some((part) => quotes(part, message))) parts.push(message);
    current = (current as { readonly cause?: unknown }).cause;
  }
  return parts.map((part, i) => (i < parts.length - 1 ? part.replace(/\.$/, '') : part)).join(': ');
}

/**
 * True if a message quotes that of its cause: at its beginning, after a colon, or in parentheses. A
 * cause such as `read` is not quoted wherever its letters occur.
 */
function quotes(text: string, cause: string): boolean {
  const quoted = cause.replace(/\.$/, '');
  if (quoted === '') return true;
  for (let at = text.indexOf(quoted); at >= 0; at = text.indexOf(quoted, at + 1)) {
    const after = text.slice(at + quoted.length, at + quoted.length + 1);
    if (
      at === 0
        ? /^[.:;]?$/.test(after)
        : /(?:[:;] |\()$/.test(text.slice(at - 2, at)) && !/\w/.test(after)
    )
      return true;
  }
  return false;
}

/**
 * Returns the message of a thrown value. Reads fields instead of testing the class, because errors
 * may come from another realm or another copy of a package, and code may throw strings.
 */
export function messageOf(thrown: unknown): string {
  if (typeof thrown !== 'object' || thrown === null) return String(thrown);
  const { message, name, errors, issues } = thrown as {
    readonly message?: unknown;
    readonly name?: unknown;
    readonly errors?: unknown;
    readonly issues?: unknown;
  };
  // The error message of a schema library (zod, valibot) is JSON, or does not name the field.
  if (Array.isArray(issues) && issues.length > 0) return issues.map(issueOf).join('; ');
  if (typeof message === 'string' && message !== '') return message;
  // A failed connection throws an AggregateError whose own message is empty.
  if (Array.isArray(errors) && errors.length > 0)
    return errors.slice(0, maxCauses).map(messageOf).join('; ');
  return typeof name === 'string' && name !== '' ? name : inspect(thrown);
}

function issueOf(issue: unknown): string {
  const { path } = (issue ?? {}) as { readonly path?: unknown };
  const message = messageOf(issue);
  if (!Array.isArray(path) || path.length === 0) return message;
  const keys = path.map((part: unknown) =>
    typeof part === 'object' && part !== null && 'key' in part ? part.key : part,
  );
  return `${keys.join('.')}: ${message}`;
}

function inspect(value: object): string {
  try {
    return JSON.stringify(value) ?? Object.prototype.toString.call(value);
  } catch {
    return Array.isArray(value) ? '[object Array]' : '[object Object]';
  }
}

/**
 * Calls `work`. If it throws an error other than a {@link TrinityError}, throws the error that
 * `wrap` returns for it.
 */
export async function boundary<T>(
  wrap: (cause: unknown) => TrinityError,
  work: () => T | Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (thrown) {
    const error = readableThrown(thrown);
    if (TrinityError.is(error) && error === thrown) throw error;
    throw wrap(error);
  }
}

/**
 * Throws if the signal of a sampling call has aborted.
 * @throws CancelledError of code `SAMPLE_ABORTED`
 */
export function throwIfAborted(signal: AbortSignal | undefined): void {
  if (!signal?.aborted) return;
  throw new CancelledError('Sampling was aborted by its caller.', {
    code: 'SAMPLE_ABORTED',
    reason: 'aborted',
    cause: signal.reason,
  });
}
