/** Errors as plain data, so that they cross a thread with class, code, details and causes. */
import {
  BufferError,
  CancelledError,
  CheckpointError,
  ConfigError,
  EngineError,
  InvariantError,
  ModelError,
  RewardError,
  SyncError,
  TaskError,
  TrinityError,
  WorkflowError,
  type CancelReason,
  type ErrorDetails,
  type TrinityErrorOptions,
} from './errors.js';

/** One error and its causes. Made by {@link toErrorRecord}. */
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
  InvariantError,
  RewardError,
  SyncError,
  TaskError,
  WorkflowError,
};

/** What can be sent of anything that was thrown. */
export function toErrorRecord(error: unknown): ErrorRecord {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { name, message, stack, cause } = error;
  return {
    name,
    message,
    ...(stack !== undefined && { stack }),
    ...(TrinityError.is(error) && {
      code: error.code,
      details: plainDetails(error.details),
      retryable: error.retryable,
    }),
    ...(error instanceof ModelError && { status: error.status }),
    ...(error instanceof CancelledError && { reason: error.reason }),
    ...(cause !== undefined && { cause: toErrorRecord(cause) }),
  };
}

/** What JSON can say: details are for logs, and must not make the answer itself fail. */
function plainDetails(details: ErrorDetails): ErrorDetails {
  return JSON.parse(JSON.stringify(details)) as ErrorDetails;
}

/**
 * An error of the class it had; one that is none of ours becomes one of class `Foreign`, with its
 * name before its message. The stack is that of the thread it comes from.
 */
export function reviveError(record: ErrorRecord, Foreign: typeof TrinityError): TrinityError {
  const cause = record.cause && reviveError(record.cause, Foreign);
  const options = {
    ...(record.code !== undefined && { code: record.code }),
    ...(record.details !== undefined && { details: record.details }),
    ...(cause !== undefined && { cause }),
  };
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
