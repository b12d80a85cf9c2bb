/**
 * Workflows that play environments: `environment_workflow`, which plays any environment, and
 * Trinity-RFT's workflows, each of which plays one.
 */
import {
  EnvironmentError,
  type Experience,
  type Logger,
  type Task,
  silentLogger,
  systemClock,
  TaskError,
  taskSystemPrompt,
} from '@trinity-rft/core';
import { beginEpisode, type Environments } from '@trinity-rft/environment/playing';
import {
  defineWorkflow,
  type AnyArgs,
  type WorkflowContext,
  type WorkflowDefinition,
} from '@trinity-rft/workflow';
import { builtInEnvironments } from '../worlds/table.js';
import { environmentArgs, environmentProblems } from './environment-args.js';
import { choiceOf, graderOf, idleJudge } from './judge.js';
import { agentscopeEmailSearch, type NamedWorkflow, namedWorkflows } from './named.js';
import { playTask } from './play-task.js';

/** Creates Trinity-RFT's workflows, each of which plays one built-in environment. */
export const worldWorkflows = (environments: Environments): readonly WorkflowDefinition[] =>
  namedWorkflows.map((named) => worldWorkflow(named, environments));

/**
 * Creates the workflow that plays any environment.
 * @param environments environments that `workflow_args.environment` can name
 */
export const environmentWorkflow = (environments: Environments): WorkflowDefinition =>
  worldWorkflow(
    { name: 'environment_workflow', args: environmentArgs, play: (args) => args },
    environments,
  );

const typed: ReadonlySet<string> = new Set(['agentscope_react_workflow', 'as_react_workflow']);

/**
 * Adds the e-mail environment to Trinity-RFT's two AgentScope workflows, whose argument `type`
 * selects an environment.
 * @returns the extended workflow, or the given workflow if it is neither of the two
 */
export function withWorldTypes(
  builtIn: WorkflowDefinition,
  environments: Environments,
): WorkflowDefinition {
  if (!typed.has(builtIn.name)) return builtIn;
  const world = worldWorkflow(agentscopeEmailSearch, environments);
  const of = ({ type }: AnyArgs): WorkflowDefinition => (type === 'email_search' ? world : builtIn);
  return {
    ...builtIn,
    needs: {
      ...builtIn.needs,
      byArgs: (args) => of(args).needs?.byArgs?.(args) ?? {},
      readRow: (task) => of(task.workflowArgs).needs?.readRow?.(task),
    },
    checkArgs: (args) => of(args).checkArgs?.(args) ?? [],
    checkRow: async (task, ...rest) => await of(task.workflowArgs).checkRow?.(task, ...rest),
    environment: (args) => of(args).environment?.(args) ?? builtIn.name,
    grader: (args, context) => of(args).grader?.(args, context),
    tasks: (args, range) => of(args).tasks?.(args, range),
    create: (context) => of(context.task.workflowArgs).create(context),
  };
}

function worldWorkflow(named: NamedWorkflow, environments: Environments): WorkflowDefinition {
  const warnOfUnused = createWarning(named);
  const declared = defineWorkflow({
    name: named.name,
    args: named.args,
    needs: {
      optionalModel: 'judge',
      unread: ['replyPrefix', 'rewardFn'],
      byArgs: (args) => {
        const { environment, environment_args: given } = environmentArgs.parse(named.play(args));
        return environments.find(environment)?.needs?.(given) ?? {};
      },
      readRow: (task) => readRow(named, task, environments),
    },
    run: (context, args) => {
      warnOfUnused(args, context.runtime.logger);
      return run(named, context, args, environments);
    },
  });
  return {
    ...declared,
    checkArgs: (args) => {
      const problems = declared.checkArgs?.(args) ?? [];
      return problems.length > 0 ? problems : environmentProblems(named.play(args), environments);
    },
    checkRow: (task, signal, models, warn) =>
      checkRow(named, task, environments, { signal, models, warn }),
    selects: named.attempts !== undefined,
    environment: (args) => environmentArgs.parse(named.play(args)).environment,
    grader: (args, { models, rewardFnArgs }) => {
      const settings = environmentArgs.parse(named.play(args));
      const { judged = false } = environments.find(settings.environment) ?? {};
      const expected = named.name !== 'environment_workflow';
      const choice = choiceOf(settings, rewardFnArgs);
      return judged ? graderOf(choice, { models, expected }) : undefined;
    },
    tasks: (args, range) => {
      const { environment, environment_args: given } = environmentArgs.parse(named.play(args));
      return environments.find(environment)?.tasks?.(range, given);
    },
  };
}

/**
 * Names of the environments that a check before the run may open. Other environments may take
 * minutes to start.
 */
const startsAtOnce: ReadonlySet<string> = new Set(builtInEnvironments.map(({ name }) => name));
/**
 * Maximum start time of an environment during a check, in ms. It is short because the user waits
 * for the check at a terminal.
 */
const longestStartMs = 30_000;

interface RowCheck {
  readonly signal: AbortSignal;
  readonly models?: readonly string[];
  readonly warn?: (reason: string) => void;
}

/**
 * Checks that an environment that starts quickly can begin an episode with a task's row. Warns if
 * the environment does not start within {@link longestStartMs}.
 * @throws TaskError if the environment cannot play the row
 */
async function checkRow(
  { play, rowOf }: NamedWorkflow,
  task: Task,
  environments: Environments,
  { signal, models, warn }: RowCheck,
): Promise<void> {
  const row = rowOf?.(task) ?? task.rawTask;
  const settings = environmentArgs.parse(play(task.workflowArgs));
  const { environment: name, environment_args } = settings;
  if (!startsAtOnce.has(name)) return;
  const environment = environments.open(name, environment_args, silentLogger);
  const asks = choiceOf(settings, task.rewardFnArgs).judge !== false && models?.length !== 0;
  const judge = environments.get(name).judged === true && asks ? idleJudge : undefined;
  const guard = {
    name,
    timeoutMs: longestStartMs,
    clock: systemClock,
    logger: silentLogger,
    signal,
  };
  const start = { row, seed: 0, judge };
  const episode = await beginEpisode(environment, start, guard).catch((error: unknown) => {
    // The time limit of the training run is longer, so the environment may still start there.
    if (!(error instanceof EnvironmentError) || error.code !== 'ENVIRONMENT_TIMEOUT') throw error;
    warn?.(`${name} did not start within ${longestStartMs / 1000} s.`);
  });
  await episode?.close();
}

/**
 * Checks a row against the schema of the environment.
 * @throws TaskError if the row does not fit
 */
function readRow({ play, rowOf }: NamedWorkflow, task: Task, environments: Environments): void {
  const row = rowOf?.(task) ?? task.rawTask;
  const { environment } = environmentArgs.parse(play(task.workflowArgs));
  const [problem] = environments.find(environment)?.checkRow?.(row) ?? [];
  if (problem === undefined) return;
  const { taskset, row: number } = task.index;
  const key = problem.path.join('.');
  throw new TaskError(
    `Row ${number} of task set "${taskset}" does not fit the environment ${environment}: ${key === '' ? '' : `${key}: `}${problem.message}. Its columns are ${Object.keys(row).join(', ') || 'none'}. Give the rows that it plays, or set storage_type: generated.`,
    { code: 'TASK_ROW' },
  );
}

/**
 * Creates a function that logs a warning for each argument that has no effect, once per argument.
 */
function createWarning({
  name,
  unused = {},
}: NamedWorkflow): (args: AnyArgs, logger: Logger) => void {
  const said = new Set<string>();
  return (args, logger) => {
    for (const [key, why] of Object.entries(unused)) {
      if (args[key] === undefined || said.has(key)) continue;
      said.add(key);
      logger.warn(`workflow_args.${key} has no effect on ${name}: ${why}`);
    }
  };
}

function run(
  { play, rowOf, attempts }: NamedWorkflow,
  context: WorkflowContext,
  args: AnyArgs,
  environments: Environments,
): Promise<readonly Experience[]> {
  const { task } = context;
  const rawTask = rowOf?.(task) ?? task.rawTask;
  const played = environmentArgs.parse(play(args));
  const settings = { ...played, ...choiceOf(played, task.rewardFnArgs) };
  const given = taskSystemPrompt(task);
  const timeLeft = countDown(context);
  const attempt = (systemPrompt = given) => {
    const formatArgs = { ...task.formatArgs, systemPrompt, systemPromptKey: undefined };
    const own = { ...context, timeLimitMs: timeLeft(), task: { ...task, rawTask, formatArgs } };
    return playTask(own, settings, environments);
  };
  return attempts === undefined ? attempt() : attempts(attempt, { given, timeLeft });
}

/**
 * Creates a function that returns the remaining time of the rollout in ms, or undefined if the
 * rollout has no limit.
 */
function countDown({ runtime: { clock }, timeLimitMs }: WorkflowContext) {
  const begun = clock.now();
  return () =>
    timeLimitMs === undefined ? undefined : Math.max(0, timeLimitMs - (clock.now() - begun));
}
