/**
 * Reads fields of a client's JSON by type. Null is treated as absent. All functions throw a
 * ModelError 400 that names the field.
 */
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import { ModelError } from '@trinity-rft/core';

export type JsonObject = Readonly<Record<string, unknown>>;

export const isPresent = (value: unknown): boolean => value !== undefined && value !== null;

export function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function list(body: JsonObject, field: string): readonly unknown[] | undefined {
  const value = body[field];
  if (!isPresent(value)) return undefined;
  if (!Array.isArray(value)) throw invalidRequest(field, `is ${quote(value)}`, 'a list');
  return value;
}

export function integer(
  body: JsonObject,
  field: string,
  least = 1,
  most = Infinity,
): number | undefined {
  const value = body[field];
  if (!isPresent(value)) return undefined;
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
    const range = most < Infinity ? `from ${least} to ${most}` : `of at least ${least}`;
    throw invalidRequest(field, `is ${quote(value)}`, `an integer ${range}`);
  }
  return value as number;
}

export function number(body: JsonObject, field: string): number | undefined {
  const value = body[field];
  if (!isPresent(value)) return undefined;
  if (typeof value !== 'number') throw invalidRequest(field, `is ${quote(value)}`, 'a number');
  return value;
}

export function string(body: JsonObject, field: string): string | undefined {
  const value = body[field];
  if (!isPresent(value)) return undefined;
  if (typeof value !== 'string') throw invalidRequest(field, `is ${quote(value)}`, 'a string');
  return value;
}

/** Reads a boolean. Returns false if the field is absent. */
export function flag(body: JsonObject, field: string): boolean {
  const value = body[field];
  if (!isPresent(value)) return false;
  if (typeof value !== 'boolean')
    throw invalidRequest(field, `is ${quote(value)}`, 'true or false');
  return value;
}

/** Reads an object. Returns `{}` if the field is absent. */
export function object(body: JsonObject, field: string): JsonObject {
  const value = body[field];
  if (!isPresent(value)) return {};
  if (!isObject(value)) throw invalidRequest(field, `is ${quote(value)}`, 'an object');
  return value;
}

/**
 * Maximum number of stop strings, and maximum length of each in characters. The limits are needed
 * because each string is searched for after every token.
 */
const [maxStops, maxStopLength] = [128, 1000];

/** Reads one string or a list of strings. */
export function stopStrings(body: JsonObject, field: string): readonly string[] {
  const value = body[field];
  if (!isPresent(value)) return [];
  const many = Array.isArray(value);
  const all = many ? (value as readonly unknown[]) : [value];
  if (all.length > maxStops)
    throw invalidRequest(field, `has ${all.length} strings`, `at most ${maxStops}`);
  return all.map((string, i) => {
    if (typeof string === 'string' && string !== '' && string.length <= maxStopLength)
      return string;
    throw invalidRequest(
      many ? `${field}[${i}]` : field,
      `is ${quote(string)}`,
      `a string of 1 to ${maxStopLength} characters`,
    );
  });
}

/**
 * A field for a feature that this endpoint does not have: its name, a check whether its value uses
 * the feature, and a description of what to send instead.
 */
export type UnsupportedField = readonly [
  field: string,
  isUsed: (value: unknown) => boolean,
  expected: string,
];

/**
 * Rejects fields that are not supported.
 * @throws ModelError 400 for the first field that is used
 */
export function rejectUnsupported(body: JsonObject, fields: readonly UnsupportedField[]): void {
  for (const [field, isUsed, expected] of fields)
    if (isUsed(body[field]))
      throw invalidRequest(field, 'is not supported by this endpoint', expected);
}

export const outputIsNotText = (modalities: unknown): boolean =>
  Array.isArray(modalities) && modalities.some((kind) => kind !== 'text');

/**
 * Returns an error in which the name of the request field is the one that the protocol's API uses.
 * Other errors are returned unchanged.
 * @param names API names, keyed by this package's names
 */
export function withFieldNames(error: unknown, names: Readonly<Record<string, string>>): unknown {
  if (!(error instanceof ModelError)) return error;
  const { status, code, details, retryable, cause } = error;
  const ours = String(details['param']);
  const param = names[ours];
  if (param === undefined) return error;
  const message = error.message.startsWith(ours)
    ? param + error.message.slice(ours.length)
    : error.message;
  return new ModelError(message, {
    status,
    code,
    retryable,
    cause,
    details: { ...details, param },
  });
}
