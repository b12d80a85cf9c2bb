/** Reads and checks the arguments of workflows (YAML `workflow_args`). */
import type { ArgProblem, ArgsSchema } from '@trinity-rft/core';
import { argProblems, readArgsBy, type ArgsOwner } from '@trinity-rft/core/support';

const owner: ArgsOwner = { key: 'workflow_args', word: 'workflow', code: 'WORKFLOW_ARGS' };

type Args = Readonly<Record<string, unknown>>;

/** Returns the problems of `args`; an empty list if they fit the schema. */
export const workflowArgProblems = (schema: ArgsSchema, args: Args): readonly ArgProblem[] =>
  argProblems(schema, args, owner);

/**
 * Returns the arguments after validation by the schema, with its defaults and conversions.
 * @throws ConfigError if the arguments do not fit the schema
 */
export const readWorkflowArgs = <A>(schema: ArgsSchema<A>, args: Args): A =>
  readArgsBy(schema, args, owner);
