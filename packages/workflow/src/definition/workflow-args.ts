/** Reads and checks the arguments of workflows (YAML `workflow_args`). */
import type { ArgProblem, ArgsSchema } from '@trinity-rft/core';
import { argProblems, readArgsBy, type ArgsOwner } from '@trinity-rft/core/support';

const owner: ArgsOwner = { key: 'workflow_args', word: 'workflow', code: 'WORKFLOW_ARGS' };

type Args = Readonly<Record<string, unknown>>;

/** Lists the problems of `args`; empty if they fit the schema. */
export const workflowArgProblems = (schema: ArgsSchema, args: Args): readonly ArgProblem[] =>
  argProblems(schema, args, owner);

/** Returns the arguments as the schema converts them, with its defaults. @throws ConfigError */
export const readWorkflowArgs = <A>(schema: ArgsSchema<A>, args: Args): A =>
  readArgsBy(schema, args, owner);
