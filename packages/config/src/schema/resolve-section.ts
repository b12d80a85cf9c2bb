/**
 * Converts a section of YAML to its group of the resolved configuration. Names are in camelCase.
 * Units and values are those that the keys define, and undefined replaces null. Hidden keys are
 * omitted.
 */
import { z } from 'zod';
import { codeName } from './args.js';
import { effectsOf, type Effect, type EffectsIn } from './fields.js';
import { coreOf } from './introspect.js';

/** Converts `max_retry_times` to `maxRetryTimes`. */
type CamelCase<Name extends string> = Name extends `${infer First}_${infer Rest}`
  ? `${First}${Capitalize<CamelCase<Rest>>}`
  : Name;

type Core<S> =
  S extends z.ZodDefault<infer Inner>
    ? Core<Inner>
    : S extends z.ZodPrefault<infer Inner>
      ? Core<Inner>
      : S extends z.ZodNullable<infer Inner>
        ? Core<Inner>
        : S;

type ShapeOf<S> = Core<S> extends z.ZodObject<infer Shape> ? Shape : never;

type NewName<E> = Extract<E, { readonly name: string }>['name'];
type Conversion<E> = Extract<E, { readonly convert: unknown }>;

type IsHidden<E> = [E & (Conversion<E> | Extract<E, { readonly keeps: true }>)] extends [never]
  ? [Extract<E, { readonly hides: true }>] extends [never]
    ? false
    : true
  : false;

type NameOf<K, E> = [NewName<E>] extends [never]
  ? IsHidden<E> extends true
    ? never
    : CamelCase<K & string>
  : NewName<E>;

type Plain<T> = T extends null
  ? undefined
  : T extends readonly unknown[] | Readonly<Record<string, unknown>>
    ? Readonly<T>
    : T;

type NoneOf<T> = null extends T ? undefined : never;

type Excluded<E> = E extends { readonly without?: infer V }
  ? string extends V
    ? never
    : Exclude<V, undefined>
  : never;

type ValueOf<S> = [Conversion<EffectsIn<S>>] extends [never]
  ? [ShapeOf<S>] extends [never]
    ? Exclude<Plain<z.output<S>>, Excluded<EffectsIn<S>>>
    : Resolved<S> | NoneOf<z.output<S>>
  : Conversion<EffectsIn<S>> extends { readonly convert: (value: never) => infer Out }
    ? Out
    : never;

/** Type of a section in the resolved configuration. */
export type Resolved<S> = {
  readonly [K in keyof ShapeOf<S> as NameOf<K, EffectsIn<ShapeOf<S>[K]>>]: ValueOf<ShapeOf<S>[K]>;
};

/**
 * Returns the values of a section in the resolved configuration.
 * @param values the parsed section
 */
export function resolveSection<S extends z.ZodType>(schema: S, values: z.output<S>): Resolved<S> {
  const { shape } = coreOf(schema) as z.ZodObject<Readonly<Record<string, z.ZodType>>>;
  const entries = Object.entries(shape).flatMap(([key, child]) => {
    const effects = effectsOf(child);
    if (isHidden(effects)) return [];
    const name = effects.find((effect) => 'name' in effect)?.name ?? codeName(key);
    const conversion = effects.find((effect) => 'convert' in effect);
    const value = (values as Readonly<Record<string, unknown>>)[key];
    const resolved =
      conversion === undefined ? resolveValue(child, value) : conversion.convert(value as never);
    return [[name, resolved] as const];
  });
  return Object.fromEntries(entries) as Resolved<S>;
}

const isHidden = (effects: readonly Effect[]): boolean =>
  effects.some((effect) => 'hides' in effect && effect.hides) &&
  !effects.some((effect) => 'keeps' in effect || 'name' in effect || 'convert' in effect);

function resolveValue(schema: z.ZodType, value: unknown): unknown {
  if (value === null) return undefined;
  return coreOf(schema) instanceof z.ZodObject ? resolveSection(schema, value as never) : value;
}

/** A group whose missing values are taken from another group. */
export type Inherited<Own, Others> = {
  readonly [K in keyof Own]: K extends keyof Others
    ? Exclude<Own[K], undefined> | Others[K]
    : Own[K];
};

/** Returns `own`, with missing values taken from `others` under the same names. */
export function inherit<Own extends object, Others extends object>(
  own: Own,
  others: Others,
): Inherited<Own, Others> {
  const completed = Object.entries(own).map(([key, value]) => [
    key,
    value ?? others[key as keyof Others],
  ]);
  return Object.fromEntries(completed) as Inherited<Own, Others>;
}
