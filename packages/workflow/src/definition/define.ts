/** How workflows and reward functions are declared. */
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
 * Declares a workflow. Export the result from a module of the plugin directory, or hand it to the
 * launcher; its name is what `default_workflow_type` says. @throws ConfigError when the name is
 * empty or has blanks
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

/** Declares a reward function, found by the name in `default_reward_fn_type`. */
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
    `${what} name ${JSON.stringify(name)} cannot be used. Use letters, digits and any of _ . : / @ - so that it can stand in a YAML file.`,
    {
      code: 'NAME_INVALID',
    },
  );
}

/** True for what {@link defineWorkflow} returned, also from another copy of this package. */
export function isWorkflowDefinition(value: unknown): value is WorkflowDefinition {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as { kind?: unknown }).kind === 'trinity-rft.workflow'
  );
}

/** True for what {@link defineReward} returned, also from another copy of this package. */
export function isRewardDefinition(value: unknown): value is RewardDefinition {
  return (
    typeof value === 'object' &&
    value !== null &&
    (value as { kind?: unknown }).kind === 'trinity-rft.reward'
  );
}
