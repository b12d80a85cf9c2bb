/** Reads the texts of tasks for text operators. */
import type { RawTask } from '@trinity-rft/core';

/** Joins the texts in the given columns with line breaks. Converts other values to JSON. */
export const textOf = (rawTask: RawTask, fields: readonly string[]): string =>
  fields
    .map((field) => rawTask[field])
    .filter((value) => value !== undefined && value !== null)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join('\n');

/** Returns true unless the value is missing or blank. */
export const hasValue = (value: unknown): boolean =>
  value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === '');

export const isText = (value: unknown): value is string => typeof value === 'string';
