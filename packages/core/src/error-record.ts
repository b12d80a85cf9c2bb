/**
 * Converts errors to plain data and back, so that errors from other threads keep their class, code,
 * details and causes.
 */
import {
  BufferError,
  CancelledError,
  CheckpointError,
  ConfigError,
  EngineError,
  EnvironmentError,
  InvariantError,
  ModelError,
  RewardError,
  SyncError,
  TaskError,
  TrinityError,
  WorkflowError,
  boundedText,
  maxCauses,
  messageOf,
  readableThrown,
  type CancelReason,
  type ErrorDetails,
  type TrinityErrorOptions,
} from './errors.js';
import { tryJson } from './try-json.js';

/** One error and its causes, as {@link toErrorRecord} returns them. */
export interface ErrorRecord {
  readonly name: string;
  readonly message: string;
  readonly stack?: string;
  readonly code?: string;
  readonly details?: ErrorDetails;
  readonly status?: number;
  readonly retryable?: boolean;
  readonly reason?: CancelReason;
  readonly cause?: ErrorRecord;
}

const classes = {
  BufferError,
  CheckpointError,
  ConfigError,
  EngineError,
  EnvironmentError,
  InvariantError,
  RewardError,
  SyncError,
  TaskError,
  WorkflowError,
};

const longestStack = 20_000;

/**
 * Converts a thrown value to plain data that can be posted to another thread. Keeps at most
 * {@link maxCauses} errors of the chain of causes. Does not throw.
 */
export const toErrorRecord = (thrown: unknown): ErrorRecord =>
  recordOf(readableThrown(thrown), maxCauses);

/**
 * Converts an error and its causes to a record.
 * @param depth number of errors to record, this one included
 */
function recordOf(error: unknown, depth: number): ErrorRecord {
  const message = boundedText(messageOf(error));
  if (!(error instanceof Error)) return { name: 'Error', message };
  const { name, stack, cause } = error;
  return {
    name,
    message,
    stack: stack === undefined ? undefined : boundedText(stack, longestStack),
    ...(TrinityError.is(error) ? ownFields(error) : undefined),
    cause: cause === undefined || depth === 1 ? undefined : recordOf(cause, depth - 1),
  };
}

const ownFields = (error: TrinityError): Partial<ErrorRecord> => ({
  code: error.code,
  details: plainDetails(error.details),
  retryable: error.retryable,
  status: error instanceof ModelError ? error.status : undefined,
  reason: error instanceof CancelledError ? error.reason : undefined,
});

/**
 * Drops details that JSON cannot represent. Details are for logs, and must not prevent an error
 * from being sent.
 */
function plainDetails(details: ErrorDetails): ErrorDetails {
  const plain = Object.entries(details).map(([name, value]) => [name, plainCopy(value)] as const);
  return Object.fromEntries(plain.filter(([, value]) => value !== undefined));
}

function plainCopy(value: unknown): unknown {
  try {
    return tryJson(JSON.stringify(value));
  } catch {
    return undefined;
  }
}

/**
 * Restores the error that {@link toErrorRecord} recorded, with its original stack. An error whose
 * class this package defines has the same class again; any other error becomes a `Foreign`. If such
 * an error had no code, its message begins with the original name of the error.
 */
export function reviveError(record: ErrorRecord, Foreign: typeof TrinityError): TrinityError {
  const cause = record.cause && reviveError(record.cause, Foreign);
  const { code, details } = record;
  const options = { code, details, cause };
  const error = construct(record, options, Foreign);
  if (record.stack !== undefined) error.stack = record.stack;
  return error;
}

function construct(
  record: ErrorRecord,
  options: TrinityErrorOptions,
  Foreign: typeof TrinityError,
): TrinityError {
  const { name, message } = record;
  if (name === 'ModelError')
    return new ModelError(message, {
      ...options,
      status: record.status ?? 500,
      retryable: record.retryable ?? false,
    });
  if (name === 'CancelledError')
    return new CancelledError(message, { ...options, reason: record.reason ?? 'aborted' });
  if (isClassName(name)) return new classes[name](message, options);
  return new Foreign(record.code === undefined ? `${name}: ${message}` : message, options);
}

function isClassName(name: string): name is keyof typeof classes {
  return Object.hasOwn(classes, name);
}
