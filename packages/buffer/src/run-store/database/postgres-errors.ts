/** Converts errors of PostgreSQL and its client to errors whose messages say what to do. */
import { describeError, BufferError } from '@trinity-rft/core';

/** Location of the database for messages, without the password. */
export interface PostgresPlace {
  readonly server: string;
  readonly database: string;
  readonly user: string;
  /** Description of the run store with which sentences in messages begin. */
  readonly text: string;
}

/** A temporary error: the same call may succeed if it is repeated. */
export class PassingError extends BufferError {
  override readonly retryable = true;
  /** True if the server cannot be reached; false if the transaction conflicted with another one. */
  readonly isUnreachable: boolean;

  constructor(message: string, isUnreachable: boolean, cause: unknown) {
    super(message, { code: 'STORE_UNREACHABLE', cause });
    this.isUnreachable = isUnreachable;
  }
}

/**
 * SQLSTATE codes of conflicts between transactions. `unreachable` matches the codes that mean that
 * the server cannot be reached.
 * @see https://www.postgresql.org/docs/current/errcodes-appendix.html
 */
const conflicts = new Set(['40001', '40P01', '55P03']);
const unreachable = /^(08...|57P0[1-5]|53300|25P03)$/;

interface Reported {
  readonly code?: string;
  readonly severity?: string;
}

/** Returns true if the error means that the connection can no longer be used. */
export function isLostConnection(error: unknown): boolean {
  const { code = '', severity } = error as Reported;
  if (severity !== undefined) return severity === 'FATAL' || unreachable.test(code);
  // Errors of the server have a severity. This error is from the client.
  return error instanceof Error && !isMistake(error);
}

/** Returns true for errors that indicate a bug in Trinity rather than a lost connection. */
const isMistake = (error: Error): boolean =>
  error instanceof TypeError || error instanceof RangeError || error instanceof SyntaxError;

export function postgresFailure(place: PostgresPlace, what: string, cause: unknown): BufferError {
  const { code = '' } = cause as Reported;
  const fixed = isWithoutPassword(cause) ? noPassword(place) : refusals[code]?.(place);
  if (fixed) return new BufferError(fixed, { code: 'STORE_REFUSED', cause });
  if (conflicts.has(code))
    return new PassingError(
      `${place.text} could not ${what}: ${describeError(cause)}.`,
      false,
      cause,
    );
  if (code === '53300') return new PassingError(noConnectionLeft(place), true, cause);
  if (isLostConnection(cause)) return new PassingError(lost(place, cause), true, cause);
  return new BufferError(`${place.text} could not ${what}, and nothing was changed.`, {
    code: 'STORE_FAILED',
    cause,
  });
}

type Refusal = (place: PostgresPlace) => string;

const wrongPassword: Refusal = ({ server, database, user }) =>
  `PostgreSQL at ${server} does not let user ${user} into database ${database}: wrong password, or this user may not connect from here. Correct the address (experience_buffer.path) or PGPASSWORD, or the server's pg_hba.conf.`;

/** Returns true for the error that the client throws if it has no password to send. */
const isWithoutPassword = (cause: unknown): boolean =>
  cause instanceof Error && /client password must be a (?:non-empty )?string/.test(cause.message);

const noPassword: Refusal = ({ server, database, user }) =>
  `PostgreSQL at ${server} asks for a password before it lets user ${user} into database ${database}, and there is none. Set PGPASSWORD, or name it in the address (experience_buffer.path).`;

const noRights: Refusal = ({ server, database, user }) =>
  `In PostgreSQL at ${server}, user ${user} may not create or use the schema trinity of database ${database}. Run there once: GRANT CREATE ON DATABASE ${database} TO ${user}.`;

/**
 * Errors by which the server refuses a connection or a statement, keyed by SQLSTATE. Retries would
 * not help.
 */
const refusals: Readonly<Record<string, Refusal>> = {
  '28P01': wrongPassword,
  '28000': wrongPassword,
  '3D000': ({ server, database }) =>
    `PostgreSQL at ${server} has no database ${database}. Create it (createdb ${database}), or correct the address (experience_buffer.path).`,
  '42501': noRights,
};

const noConnectionLeft: Refusal = ({ server, database }) =>
  `PostgreSQL at ${server}, database ${database}, has no connection left. Every process of a run uses up to 9: raise max_connections of the server, or end other programs.`;

const lost = ({ server, database }: PostgresPlace, cause: unknown): string =>
  `PostgreSQL at ${server}, database ${database}, cannot be reached: ${describeError(cause)}. Check that it runs, its address (experience_buffer.path) and the network.`;
