/** Texts that text operators read. */
import type { RawTask } from '@trinity-rft/core';

/** The texts under the given columns, joined by line breaks; what is no text counts as its JSON. */
export const textOf = (rawTask: RawTask, fields: readonly string[]): string =>
  fields
    .map((field) => rawTask[field])
    .filter((value) => value !== undefined && value !== null)
    .map((value) => (typeof value === 'string' ? value : JSON.stringify(value)))
    .join('\n');

/** A task has something there. */
export const hasValue = (value: unknown): boolean =>
  value !== undefined && value !== null && !(typeof value === 'string' && value.trim() === '');

export const isText = (value: unknown): value is string => typeof value === 'string';
