/** Reads and checks the arguments of workflows (YAML `workflow_args`). */
import type { ArgProblem, ArgsSchema } from '@trinity-rft/core';
import { argProblems, readArgsBy, type ArgsOwner } from '@trinity-rft/core/support';

const owner: ArgsOwner = { key: 'workflow_args', word: 'workflow', code: 'WORKFLOW_ARGS' };

type Args = Readonly<Record<string, unknown>>;

/** Lists the problems of `args`; empty if `args` fit the schema. */
export const workflowArgProblems = (schema: ArgsSchema, args: Args): readonly ArgProblem[] =>
  argProblems(schema, args, owner);

/**
 * Returns the arguments as converted by the schema, with defaults.
 * @throws ConfigError if the arguments do not fit the schema
 */
export const readWorkflowArgs = <A>(schema: ArgsSchema<A>, args: Args): A =>
  readArgsBy(schema, args, owner);
