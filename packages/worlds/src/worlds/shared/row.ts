import { type RawTask, TaskError } from '@trinity-rft/core';
import { z } from 'zod';

/**
 * Validates a row of a task set.
 * @param world name of the environment, for the error message
 * @throws TaskError if the row does not fit the schema
 */
export function readRow<T>(schema: z.ZodType<T>, row: RawTask, world: string): T {
  const result = schema.safeParse(row);
  if (result.success) return result.data;
  throw new TaskError(
    `A row does not fit the environment ${world}. ${z.prettifyError(result.error)}\nSet storage_type: generated and task_count for tasks that this package makes.`,
    { code: 'TASK_ROW' },
  );
}
