/** Errors about a single record. The import skips the record and reports the error. */
import { TaskError } from '@trinity-rft/core';
import type { Fault } from './item.js';

const code = 'IMPORT_RECORD';

/**
 * Creates the error for a record that is skipped.
 * @param reason message without details of the record, because the report groups records by it
 * @param found the value in this record, which the report redacts and shortens
 */
export function fault(reason: string, found?: unknown): TaskError {
  const detail = found === undefined ? undefined : (JSON.stringify(found) ?? '');
  return new TaskError(reason, { code, details: { detail } });
}

/** Returns the result of `read`, or the fault that it throws. */
export function orFault<T>(read: () => T): T | Fault {
  try {
    return read();
  } catch (error) {
    if (!(error instanceof TaskError) || error.code !== code) throw error;
    const { detail } = error.details;
    return { reason: error.message, ...(typeof detail === 'string' && { detail }) };
  }
}

/** Returns the given items, or a list that contains only the given fault. */
export const asList = <T>(items: readonly T[] | Fault): readonly (T | Fault)[] =>
  'reason' in items ? [items] : items;
