/** Errors as plain data: they keep class, code, details and causes when they cross threads. */
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
  readableThrown,
  type CancelReason,
  type ErrorDetails,
  type TrinityErrorOptions,
} from './errors.js';

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

/** Reduces a thrown value to plain data that can be posted to another thread. */
export function toErrorRecord(thrown: unknown): ErrorRecord {
  const error = readableThrown(thrown);
  if (!(error instanceof Error)) return { name: 'Error', message: boundedText(String(error)) };
  const { name, message, stack, cause } = error;
  return {
    name,
    message: boundedText(message),
    stack: stack === undefined ? undefined : boundedText(stack, longestStack),
    ...(TrinityError.is(error) ? ownFields(error) : undefined),
    cause: cause === undefined ? undefined : toErrorRecord(cause),
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
 * Drops values that JSON cannot hold: details are for logs, and must not make sending the error
 * fail.
 */
function plainDetails(details: ErrorDetails): ErrorDetails {
  return JSON.parse(JSON.stringify(details)) as ErrorDetails;
}

/**
 * Restores the error that {@link toErrorRecord} described, with its original stack. Errors keep
 * their class if it is one of this package; others become `Foreign`. The message of an error of
 * another library then begins with the original name.
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
