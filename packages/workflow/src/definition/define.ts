/** Declaring workflows and reward functions. */
import { ConfigError, type RewardFn } from '@trinity-rft/core';
import type {
  RewardDefinition,
  WorkflowContext,
  WorkflowDefinition,
  WorkflowResult,
} from './types.js';
import type { WorkflowClass } from './workflow-class.js';

const namePattern = /^[\w.:/@-]+$/;

/** A workflow as a function of its context. */
export interface WorkflowFunctionOptions {
  readonly name: string;
  readonly run: (context: WorkflowContext) => Promise<WorkflowResult> | WorkflowResult;
}

/** A workflow as a class; `canReset` and `canRepeat` are its static flags. */
export interface WorkflowClassOptions {
  readonly name: string;
  readonly workflow: WorkflowClass;
}

/**
 * Declares a workflow that `default_workflow_type` can name. Export the result from a module of the
 * plugin directory, or pass it to the launcher.
 * @throws ConfigError when the name is empty or has characters that are not allowed
 */
export function defineWorkflow(
  options: WorkflowFunctionOptions | WorkflowClassOptions,
): WorkflowDefinition {
  const name = checkName('Workflow', options.name);
  if ('run' in options) {
    const { run } = options;
    return {
      kind: 'trinity-rft.workflow',
      name,
      canReset: false,
      canRepeat: false,
      create: (context) => ({ run: () => run(context) }),
    };
  }
  const { workflow: Class } = options;
  return {
    kind: 'trinity-rft.workflow',
    name,
    canReset: Class.canReset,
    canRepeat: Class.canRepeat,
    create: (context) => {
      const instance = new Class(context);
      return {
        run: () => instance.run(),
        reset: (next) => instance.attach(next),
        setRepeatTimes: (times, base) => instance.setRepeatTimes(times, base),
      };
    },
  };
}

/** Declares a reward function that `default_reward_fn_type` can name. */
export function defineReward(options: {
  readonly name: string;
  readonly score: RewardFn;
}): RewardDefinition {
  return {
    kind: 'trinity-rft.reward',
    name: checkName('Reward function', options.name),
    create: () => options.score,
  };
}

function checkName(what: string, name: string): string {
  if (namePattern.test(name)) return name;
  throw new ConfigError(
    `${what} name ${JSON.stringify(name)} is invalid. Use letters, digits and any of _ . : / @ -`,
    { code: 'NAME_INVALID' },
  );
}

/** Recognises a result of {@link defineWorkflow}, even from another copy of this package. */
export const isWorkflowDefinition = (value: unknown): value is WorkflowDefinition =>
  kindOf(value) === 'trinity-rft.workflow';

/** Recognises a result of {@link defineReward}, even from another copy of this package. */
export const isRewardDefinition = (value: unknown): value is RewardDefinition =>
  kindOf(value) === 'trinity-rft.reward';

const kindOf = (value: unknown): unknown =>
  (value as { readonly kind?: unknown } | null | undefined)?.kind;
