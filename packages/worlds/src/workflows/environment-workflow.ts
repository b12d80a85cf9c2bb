/** `environment_workflow`: plays any environment with any algorithm. */
import type { Environments } from '@trinity-rft/environment/internal';
import { defineWorkflow, type WorkflowDefinition } from '@trinity-rft/workflow';
import { environmentArgs, environmentProblems } from './environment-args.js';
import { playTask } from './play-task.js';

/** @param environments those that `workflow_args.environment` can name */
export function environmentWorkflow(environments: Environments): WorkflowDefinition {
  const declared = defineWorkflow({
    name: 'environment_workflow',
    args: environmentArgs,
    run: (context, args) => playTask(context, args, environments),
  });
  return {
    ...declared,
    checkArgs: (args) => {
      const problems = declared.checkArgs?.(args) ?? [];
      return problems.length > 0 ? problems : environmentProblems(args, environments);
    },
    environment: (args) => String(args['environment']),
    tasks: (args, range) => {
      const { environment, environment_args: given } = environmentArgs.parse(args);
      return environments.find(environment)?.tasks?.(range, given);
    },
  };
}
