/**
 * Environments of a training run. For each set of arguments, an environment is opened once, and it
 * is closed at the end of the training run.
 */
import {
  ConfigError,
  describeError,
  EnvironmentError,
  type Logger,
  CancelledError,
  systemClock,
} from '@trinity-rft/core';
import { boundary, didYouMean, waitingFor } from '@trinity-rft/core/support';
import type { EnvironmentContext, EnvironmentDefinition } from '../seam/define.js';
import type { Environment } from '../seam/types.js';
import { within } from '../waiting/within.js';

type Args = Readonly<Record<string, unknown>>;

export interface Environments {
  names(): readonly string[];
  find(name: string): EnvironmentDefinition | undefined;
  /**
   * Returns the definition of the environment `name`.
   * @throws ConfigError if there is no such environment; its message lists the known names and the
   * most similar one
   */
  get(name: string): EnvironmentDefinition;
  /**
   * Returns the environment `name` with these arguments, opened on the first call. If opening
   * fails, the next call tries again.
   * @throws ConfigError if the environment is unknown or the arguments are invalid,
   * EnvironmentError if it cannot be opened
   */
  open(name: string, args: Args, logger: Logger): Promise<Environment>;
  /** Closes the open environments. Failures are logged. */
  close(): Promise<void>;
}

/**
 * Creates the registry of environments.
 * @throws ConfigError if two definitions share a name
 */
export function createEnvironments(definitions: readonly EnvironmentDefinition[]): Environments {
  const table = new Map<string, EnvironmentDefinition>();
  for (const definition of definitions) {
    if (table.has(definition.name)) throw duplicate(definition.name);
    table.set(definition.name, definition);
  }
  const opened = new Map<string, Opened>();
  const ended = new AbortController();
  const get = (name: string): EnvironmentDefinition => table.get(name) ?? unknown(name, table);
  return {
    names: () => [...table.keys()],
    find: (name) => table.get(name),
    get,
    open: (name, args, logger) => {
      const key = JSON.stringify([name, args]);
      const known = opened.get(key);
      if (known) return known.environment;
      const environment = openOne(get(name), args, { logger, signal: ended.signal });
      opened.set(key, { environment, logger });
      environment.catch(() => opened.delete(key));
      return environment;
    },
    close: async () => {
      const all = [...opened.values()];
      opened.clear();
      ended.abort(new CancelledError('The run ended.', { reason: 'shutdown' }));
      await Promise.all(all.map(closeOne));
    },
  };
}

interface Opened {
  readonly environment: Promise<Environment>;
  readonly logger: Logger;
}

async function openOne(
  definition: EnvironmentDefinition,
  args: Args,
  context: EnvironmentContext,
): Promise<Environment> {
  try {
    return await boundary(
      (cause) =>
        new EnvironmentError(`Environment "${definition.name}" could not be opened.`, {
          code: 'ENVIRONMENT_START',
          cause,
        }),
      () =>
        waitingFor(
          { clock: systemClock, logger: context.logger },
          { what: `environment "${definition.name}" to start`, cause: () => undefined },
          async () => definition.open(args, context),
        ),
    );
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    // The explorer ends the stage for it. A ConfigError of `reset` is about one row.
    const { message, code, details, cause } = error;
    throw new ConfigError(message, { code, details: { ...details, isOfAllRows: true }, cause });
  }
}

/** Timeout for closing an environment, in ms. */
const closeMs = 60_000;

/**
 * Closes an environment. If it is still being opened, closes it when it is open, even after the
 * timeout. Does not reject.
 */
async function closeOne({ environment, logger }: Opened): Promise<void> {
  const patience = { ms: closeMs, signal: new AbortController().signal };
  // An error at opening is reported where the environment was opened.
  const opened = environment.catch(() => undefined);
  try {
    await within(patience, tooLate, async () => (await opened)?.close());
  } catch (error) {
    logger.warn(`An environment could not be closed: ${describeError(error)}`);
  }
}

const tooLate = (): EnvironmentError =>
  new EnvironmentError(`It did not close within ${closeMs / 1000} s.`, {
    code: 'ENVIRONMENT_TIMEOUT',
  });

const duplicate = (name: string): ConfigError =>
  new ConfigError(`Two environments are named "${name}". Give one of them another name.`, {
    code: 'DUPLICATE_NAME',
    details: { name },
  });

function unknown(name: string, table: ReadonlyMap<string, EnvironmentDefinition>): never {
  const known = [...table.keys()].toSorted();
  throw new ConfigError(
    `There is no environment named "${name}".${didYouMean(name, known)} Known: ${known.join(', ')}. One of your own comes from a plugin.`,
    { code: 'UNKNOWN_NAME' },
  );
}
