/**
 * Fields of a client's JSON by type; null counts as absent. All throw a ModelError 400 with the
 * field's name.
 */
import { quote, refusal } from './invalid-request.js';

export type Body = Readonly<Record<string, unknown>>;

export const given = (value: unknown): boolean => value !== undefined && value !== null;

export function isRecord(value: unknown): value is Body {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function list(body: Body, field: string): readonly unknown[] | undefined {
  const value = body[field];
  if (!given(value)) return undefined;
  if (!Array.isArray(value)) throw refusal(field, `is ${quote(value)}`, 'a list');
  return value;
}

export function integer(body: Body, field: string, least = 1, most = Infinity): number | undefined {
  const value = body[field];
  if (!given(value)) return undefined;
  if (!Number.isInteger(value) || (value as number) < least || (value as number) > most) {
    throw refusal(
      field,
      `is ${quote(value)}`,
      `an integer ${most < Infinity ? `from ${least} to ${most}` : `of at least ${least}`}`,
    );
  }
  return value as number;
}

/** `{ [name]: value }`, or nothing at all. */
export function number<K extends string>(
  body: Body,
  field: string,
  name: K,
): { readonly [key in K]?: number } {
  const value = body[field];
  if (!given(value)) return {};
  if (typeof value !== 'number') throw refusal(field, `is ${quote(value)}`, 'a number');
  return { [name]: value } as { readonly [key in K]?: number };
}

/** Absent is false. */
export function flag(body: Body, field: string): boolean {
  const value = body[field];
  if (!given(value)) return false;
  if (typeof value !== 'boolean') throw refusal(field, `is ${quote(value)}`, 'true or false');
  return value;
}

/** An object, `{}` when absent. */
export function record(body: Body, field: string): Body {
  const value = body[field];
  if (!given(value)) return {};
  if (!isRecord(value)) throw refusal(field, `is ${quote(value)}`, 'an object');
  return value;
}

/** `stop`: one string or a list of them. */
export function stopStrings(value: unknown): readonly string[] {
  if (!given(value)) return [];
  const many = Array.isArray(value);
  return (many ? (value as readonly unknown[]) : [value]).map((string, i) => {
    if (typeof string === 'string' && string !== '') return string;
    throw refusal(
      many ? `stop[${i}]` : 'stop',
      `is ${quote(string)}`,
      'a string that is not empty',
    );
  });
}

/** A field that asks for something that is not available, and what to do instead. */
export type Unavailable = readonly [
  field: string,
  asked: (value: unknown) => boolean,
  expected: string,
];

/** @throws ModelError 400 for the first of them that is asked for */
export function refuseUnavailable(body: Body, table: readonly Unavailable[]): void {
  const found = table.find(([field, asked]) => asked(body[field]));
  if (found) throw refusal(found[0], 'asks for something this endpoint does not have', found[2]);
}
