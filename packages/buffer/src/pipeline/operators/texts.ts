/** Texts for text operators. */
import type { RawTask } from '@trinity-rft/core';

/** Texts in the given columns, joined by line breaks; values that are not texts are converted to JSON. */
export const textOf = (rawTask: RawTask, fields: readonly string[]): string =>
  fields
    .map((field) => rawTask[field])
    .filter((value) => value !== undefined && value !== null)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join('\n');

/** True unless the value is missing or blank. */
export const hasValue = (value: unknown): boolean =>
  value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === '');

export const isText = (value: unknown): value is string => typeof value === 'string';
