/** Declares environments, and recognizes those that plugins declare. */
import {
  type ArgProblem,
  type ArgsSchema,
  ConfigError,
  type Logger,
  type Needs,
  type RawTask,
  type TaskRange,
} from '@trinity-rft/core';
import {
  argProblems,
  readArgsBy,
  type ArgsOwner,
  checkDefinition,
  copyOf,
  returnedBy,
} from '@trinity-rft/core/support';
import type { Environment, EpisodeStart, Solver } from './types.js';

type AnyArgs = Readonly<Record<string, unknown>>;

/** Defaults for playing the environment as a conversation. `workflow_args` override them. */
export interface PlayDefaults {
  /** Maximum number of model calls per episode. @default 20 */
  readonly maxTurns?: number;
  /**
   * Format in which the model writes an action. It contains the placeholder `{action}` once, as in
   * `<action>{action}</action>`. The last action in the model's message counts.
   * @default the whole message, trimmed, is the action
   */
  readonly actionFormat?: string;
  /**
   * Rule that combines the rewards of the steps into the reward of the episode.
   * @default 'sum'
   */
  readonly reward?: 'last' | 'sum' | 'max';
}

export interface EnvironmentContext {
  readonly logger: Logger;
  /** Signal that aborts when the training run ends. */
  readonly signal: AbortSignal;
}

/** Options of {@link defineEnvironment}. */
export interface EnvironmentOptions<Args> {
  /** Name with which `workflow_args.environment` selects the environment. */
  readonly name: string;
  /** One-sentence description, shown by `trinity env list`. */
  readonly description: string;
  /**
   * Schema of `workflow_args.environment_args`, in zod or another Standard Schema library.
   * @default any arguments
   */
  readonly args?: ArgsSchema<Args>;
  /**
   * Schema of the task rows that the environment accepts. Rows are checked before a training run.
   * @default any row fits
   */
  readonly rows?: ArgsSchema;
  /**
   * Returns the requirements of the environment, given its arguments.
   * @default no requirements
   */
  readonly needs?: (args: Args) => Needs;
  readonly play?: PlayDefaults;
  /**
   * True if a judge (`EpisodeStart.judge`) decides the rewards in training runs that have a judge.
   * @default false
   */
  readonly judged?: boolean;
  /**
   * Opens the environment, for example by starting servers or loading data. It should throw an
   * EnvironmentError if the environment cannot be opened, and a ConfigError if the arguments are
   * invalid.
   */
  readonly open: (args: Args, context: EnvironmentContext) => Promise<Environment> | Environment;
  /**
   * Generates tasks as task-set rows. Must return equal rows for equal ranges, and no row may occur
   * in both splits.
   * @default the tasks come from a file
   */
  readonly tasks?: (range: TaskRange, args: Args) => readonly RawTask[];
  /**
   * Creates a policy that solves the episode. `trinity env test` checks that it earns a reward
   * above 0.
   * @default no solver
   */
  readonly solver?: (start: EpisodeStart, args: Args) => Solver;
}

/** Definition of an environment in the registry. */
export interface EnvironmentDefinition {
  readonly kind: 'trinity-rft.environment';
  readonly name: string;
  readonly description: string;
  readonly play: PlayDefaults;
  readonly judged: boolean;
  /** Schema of the environment's arguments. @default any arguments */
  readonly args?: ArgsSchema;
  /** Validates `environment_args`, and returns the problems found. */
  checkArgs(args: AnyArgs): readonly ArgProblem[];
  /** Validates a task row, and returns the problems found. @default any row fits */
  readonly checkRow?: (row: RawTask) => readonly ArgProblem[];
  /**
   * Returns the requirements of the environment, given its arguments.
   * @throws ConfigError if the arguments are invalid
   * @default no requirements
   */
  readonly needs?: (args: AnyArgs) => Needs;
  /**
   * Opens the environment.
   * @throws ConfigError if the arguments or what `open` returned are invalid, and EnvironmentError
   * if the environment cannot be opened
   */
  open(args: AnyArgs, context: EnvironmentContext): Promise<Environment>;
  readonly tasks?: (range: TaskRange, args: AnyArgs) => readonly RawTask[];
  readonly solver?: (start: EpisodeStart, args: AnyArgs) => Solver;
}

const kind = 'trinity-rft.environment';

/** Placeholder that stands for the action in action formats. */
export const actionSlot = '{action}';

const owner: ArgsOwner = {
  key: 'environment_args',
  word: 'environment',
  code: 'ENVIRONMENT_ARGS',
};

/**
 * Declares an environment that `workflow_args.environment` can name. Export the result from a
 * plugin, or pass it to the launcher.
 * @throws ConfigError for a name with characters that are not allowed, without `open`,
 * for `args` or `rows` that are not a schema, for an unknown option, and for an action format that does not contain the
 * placeholder exactly once
 */
export function defineEnvironment<Args = AnyArgs>(
  options: EnvironmentOptions<Args>,
): EnvironmentDefinition {
  const name = checkDefinition('Environment', options, {
    open: 'function',
    args: 'schema',
    rows: 'schema',
    description: 'any',
    needs: 'any',
    play: 'any',
    judged: 'any',
    tasks: 'any',
    solver: 'any',
  });
  const { description, args: schema, rows, needs, play = {}, judged = false } = options;
  const { open, tasks, solver } = options;
  const read = (given: AnyArgs): Args =>
    schema === undefined ? (copyOf(given) as Args) : readArgsBy(schema, copyOf(given), owner);
  if (play.actionFormat !== undefined && play.actionFormat.split(actionSlot).length !== 2)
    throw noSlot(name, play.actionFormat);
  return {
    kind,
    name,
    description,
    play,
    judged,
    args: schema,
    checkArgs: (given) => (schema === undefined ? [] : argProblems(schema, given, owner)),
    checkRow: rows && ((row) => argProblems(rows, row, owner)),
    needs: needs && ((given) => needs(read(given))),
    open: async (given, context) => checked(name, await open(read(given), context)),
    tasks: tasks && ((range, given) => tasks(range, read(given))),
    solver: solver && ((start, given) => solver(start, read(given))),
  };
}

/** Validates an environment without copying it, because it may be an instance of a class. */
function checked(name: string, environment: Environment): Environment {
  const by = returnedBy(
    `\`open\` of environment "${name}"`,
    (message) => new ConfigError(message, { code: 'ENVIRONMENT_INVALID' }),
  );
  const given = environment as Partial<Environment> | null | undefined;
  if (typeof given?.reset === 'function' && typeof given.close === 'function') return environment;
  throw by.refuse(environment, 'an environment with reset and close');
}

const noSlot = (name: string, format: string): ConfigError =>
  new ConfigError(
    `Environment "${name}": play.actionFormat is ${JSON.stringify(format)}; expected a format with {action} once, such as <action>{action}</action>.`,
    { code: 'ACTION_FORMAT' },
  );

/**
 * Returns true for values that {@link defineEnvironment} created, even in another copy of this
 * package.
 */
export const isEnvironmentDefinition = (value: unknown): value is EnvironmentDefinition =>
  (value as { readonly kind?: unknown } | null | undefined)?.kind === kind;
