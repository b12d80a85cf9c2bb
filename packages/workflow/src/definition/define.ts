/**
 * Declares workflows, and recognises the definitions of workflows and reward functions that plugins
 * export.
 */
import type { ArgsSchema } from '@trinity-rft/core';
import { checkDefinition } from '@trinity-rft/core/support';
import type { RewardDefinition } from '../reward/index.js';
import type {
  WorkflowContext,
  WorkflowDefinition,
  WorkflowNeeds,
  WorkflowResult,
} from './types.js';
import { runGroup } from './partial-group-error.js';
import { readWorkflowArgs, workflowArgProblems } from './workflow-args.js';
import type { WorkflowClass } from './workflow-class.js';

/** Type of `workflow_args` if there is no schema. */
export type AnyArgs = Readonly<Record<string, unknown>>;

interface Declaration<Args> {
  readonly name: string;
  /**
   * Schema of `workflow_args`, in zod or another library that supports Standard Schema. Wrong
   * arguments are reported by `trinity config check` and when a run starts.
   * @default undefined: arguments are not checked
   */
  readonly args?: ArgsSchema<Args>;
  /** Requirements of the workflow. @default no requirements */
  readonly needs?: WorkflowNeeds;
}

/** A workflow as a function of its context. */
export interface WorkflowFunctionOptions<Args = AnyArgs> extends Declaration<Args> {
  /**
   * Executes the workflow. `args` are the arguments after validation by the schema, with its
   * defaults.
   */
  readonly run: (context: WorkflowContext, args: Args) => Promise<WorkflowResult> | WorkflowResult;
}

/** A workflow as a class. `canReset` and `canRepeat` are read from its static properties. */
export interface WorkflowClassOptions extends Declaration<unknown> {
  readonly workflow: WorkflowClass;
}

/**
 * Declares a workflow that `default_workflow_type` can name. Export the result from a plugin, or
 * pass it to the launcher.
 * @throws ConfigError for a name with characters that are not allowed, without `run` or a class, for
 * `args` that are not a schema, and for an unknown option
 */
export function defineWorkflow<Args = AnyArgs>(
  options: WorkflowFunctionOptions<Args> | WorkflowClassOptions,
): WorkflowDefinition {
  const { run, workflow } = options as Partial<WorkflowFunctionOptions & WorkflowClassOptions>;
  return run === undefined && workflow !== undefined
    ? ofClass(options as WorkflowClassOptions)
    : ofFunction(options as WorkflowFunctionOptions<Args>);
}

const kind = 'trinity-rft.workflow';

/** Options of both kinds of workflows. */
const declared = { args: 'schema', needs: 'any' } as const;

/** Returns the function that checks arguments, or undefined if there is no schema. */
const checkOf = (args: ArgsSchema | undefined): WorkflowDefinition['checkArgs'] =>
  args && ((given) => workflowArgProblems(args, given));

function ofFunction<Args>(options: WorkflowFunctionOptions<Args>): WorkflowDefinition {
  const name = checkDefinition('Workflow', options, { ...declared, run: 'function' });
  const { args, needs, run } = options;
  const read = (given: AnyArgs): Args =>
    args === undefined ? (given as Args) : readWorkflowArgs(args, given);
  return {
    kind,
    name,
    needs,
    checkArgs: checkOf(args),
    canReset: false,
    canRepeat: false,
    create: (context) => ({
      run: () => run(context, read(context.task.workflowArgs)),
    }),
  };
}

function ofClass(options: WorkflowClassOptions): WorkflowDefinition {
  const name = checkDefinition('Workflow', options, { ...declared, workflow: 'class' });
  const { workflow: Class, args, needs } = options;
  return {
    kind,
    name,
    needs,
    checkArgs: checkOf(args),
    canReset: Class.canReset,
    canRepeat: Class.canRepeat,
    create: (context) => {
      const instance = new Class(context);
      return {
        run: () => runGroup(instance),
        reset: (next) => instance.attach(next),
        setRepeatTimes: (times, base) => instance.setRepeatTimes(times, base),
      };
    },
  };
}

/**
 * Returns true for a result of {@link defineWorkflow}, even if another copy of this package created
 * it.
 */
export const isWorkflowDefinition = (value: unknown): value is WorkflowDefinition =>
  kindOf(value) === 'trinity-rft.workflow';

/** Returns true for a result of `defineReward`, even if another copy of this package created it. */
export const isRewardDefinition = (value: unknown): value is RewardDefinition =>
  kindOf(value) === 'trinity-rft.reward';

const kindOf = (value: unknown): unknown =>
  (value as { readonly kind?: unknown } | null | undefined)?.kind;
