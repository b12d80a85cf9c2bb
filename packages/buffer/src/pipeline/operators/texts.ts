/** Reads the values of a task's columns as text. */
import type { RawTask } from '@trinity-rft/core';
import { fieldOf } from '@trinity-rft/core/internal';

/**
 * Joins the values of the given columns with line breaks. Converts values that are not strings to
 * JSON, and skips missing values.
 */
export const textOf = (rawTask: RawTask, fields: readonly string[]): string =>
  fields
    .map((field) => fieldOf(rawTask, field))
    .filter((value) => value !== undefined && value !== null)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join('\n');

export const isText = (value: unknown): value is string => typeof value === 'string';
