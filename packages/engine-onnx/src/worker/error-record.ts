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
} from '@trinity-rft/core';

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

export function toErrorRecord(error: unknown): ErrorRecord {
  if (!(error instanceof Error)) return { name: 'Error', message: String(error) };
  const { name, message, stack, cause } = error;
  return {
    name,
    message,
    ...(stack !== undefined && { stack }),
    ...(TrinityError.is(error) && { code: error.code, details: plainDetails(error.details), retryable: error.retryable }),
    ...(error instanceof ModelError && { status: error.status }),
    ...(error instanceof CancelledError && { reason: error.reason }),
    ...(cause !== undefined && { cause: toErrorRecord(cause) }),
  };
}

/** What JSON can say: details are for logs, and must not make the answer itself fail. */
function plainDetails(details: ErrorDetails): ErrorDetails {
  return JSON.parse(JSON.stringify(details)) as ErrorDetails;
}

/** An error of the class it had; a foreign one becomes an EngineError. The stack is that of the thread it comes from. */
export function reviveError(record: ErrorRecord): TrinityError {
  const cause = record.cause && reviveError(record.cause);
  const options = {
    ...(record.code !== undefined && { code: record.code }),
    ...(record.details !== undefined && { details: record.details }),
    ...(cause !== undefined && { cause }),
  };
  const error = construct(record, options);
  if (record.stack !== undefined) error.stack = record.stack;
  return error;
}

function construct(record: ErrorRecord, options: ConstructorParameters<typeof TrinityError>[1] & object): TrinityError {
  const { name, message } = record;
  if (name === 'ModelError')
    return new ModelError(message, { ...options, status: record.status ?? 500, retryable: record.retryable ?? false });
  if (name === 'CancelledError') return new CancelledError(message, { ...options, reason: record.reason ?? 'aborted' });
  if (isClassName(name)) return new classes[name](message, options);
  return new EngineError(record.code === undefined ? `${name}: ${message}` : message, options);
}

function isClassName(name: string): name is keyof typeof classes {
  return Object.hasOwn(classes, name);
}
