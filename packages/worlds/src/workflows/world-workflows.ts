/** Workflows that play environments: any of them, and those of Trinity-RFT, which play one each. */
import type { Experience } from '@trinity-rft/core';
import type { Environments } from '@trinity-rft/environment/internal';
import {
  defineWorkflow,
  type AnyArgs,
  type WorkflowContext,
  type WorkflowDefinition,
} from '@trinity-rft/workflow';
import { environmentArgs, environmentProblems } from './environment-args.js';
import { choiceOf, graderOf } from './judge.js';
import { type NamedWorkflow, namedWorkflows } from './named.js';
import { playTask } from './play-task.js';

export const worldWorkflows = (environments: Environments): readonly WorkflowDefinition[] =>
  namedWorkflows.map((named) => worldWorkflow(named, environments));

/** @param environments those that `workflow_args.environment` can name */
export const environmentWorkflow = (environments: Environments): WorkflowDefinition =>
  worldWorkflow(
    { name: 'environment_workflow', args: environmentArgs, play: (args) => args },
    environments,
  );

function worldWorkflow(named: NamedWorkflow, environments: Environments): WorkflowDefinition {
  const declared = defineWorkflow({
    name: named.name,
    args: named.args,
    needs: { optionalModel: 'judge' },
    run: (context, args) => run(named, context, args, environments),
  });
  return {
    ...declared,
    checkArgs: (args) => {
      const problems = declared.checkArgs?.(args) ?? [];
      return problems.length > 0 ? problems : environmentProblems(named.play(args), environments);
    },
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
  const given = task.formatArgs.systemPrompt;
  const attempt = (systemPrompt = given) => {
    const formatArgs = { ...task.formatArgs, systemPrompt };
    return playTask({ ...context, task: { ...task, rawTask, formatArgs } }, settings, environments);
  };
  return attempts === undefined ? attempt() : attempts(attempt, given);
}
