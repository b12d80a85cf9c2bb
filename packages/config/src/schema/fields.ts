/**
 * Keys and sections of the schema. A key states its type, default and description. The effects of a
 * key state whether the key is ignored or not supported, and define its name and value in the
 * resolved configuration. Without effects, the resolved name is in camelCase, and the value is
 * unchanged, except that undefined replaces null.
 */
import { z } from 'zod';

/**
 * Status of a key.
 * - `notSupported`: setting the key is a problem, because its feature does not exist.
 * - `ignored`: setting the key causes a warning, because it has no effect on the training run.
 */
export type KeyStatusName = 'notSupported' | 'ignored';

/** Options that limit a status to some values, or to a key inside a free-form section. */
export interface StatusOptions<V = unknown> {
  /**
   * Values that the status applies to. @default all values except those in `except`, or all except
   * the default of the key
   */
  readonly values?: readonly V[];
  /** Values that the status does not apply to. */
  readonly except?: readonly unknown[];
  /**
   * Path of the only key inside a free-form section that has the status, such as
   * `actor.ppo_epochs`.
   */
  readonly inside?: string;
}

export interface StatusEffect extends StatusOptions {
  readonly status: KeyStatusName;
  /** Reason for the status, and advice. */
  readonly note: string;
}

/**
 * Effect of a key: its status, or how it appears in the resolved configuration. `In` is the type of
 * the key's parsed value. The value is null if the key is not set.
 */
export type Effect<In = never> =
  | (StatusEffect & { readonly hides: boolean })
  | { readonly hides: true; readonly shorthand?: true }
  | { readonly keeps: true }
  | { readonly name: string }
  | { readonly convert: (value: In) => unknown };

const statusOf =
  (status: KeyStatusName) =>
  <const V = never>(
    note: string,
    options: StatusOptions<V> = {},
  ): StatusEffect & Hides<[V] extends [never] ? true : false> & Without<V> =>
    ({
      status,
      note,
      ...options,
      hides: options.values === undefined,
    }) as never;

/**
 * Creates the effect of a key that is accepted with a warning. If `values` is not given, the key is
 * not in the resolved configuration.
 */
export const ignored = statusOf('ignored');

/**
 * Creates the effect of a key that is reported as a problem if it is set. If `values` is not given,
 * the key is not in the resolved configuration.
 */
export const notSupported = statusOf('notSupported');

/** Creates the effects of a string key whose value must be one of `values`, or unset. */
export function supportedOnly<const V extends string>(values: readonly V[]) {
  const note = `Supported: ${values.join(', ')}.`;
  return [
    notSupported(note, { except: [null, ...values] }),
    converted((value: string | null) => (value ?? undefined) as V | undefined),
  ] as const;
}

/**
 * Hides a key, because `resolve/` computes the resolved value from several keys, or because nothing
 * reads it.
 */
export const derived = { hides: true } as const;

/** Marks a short form, which is replaced with the full key before the file is checked. */
export const shorthand = { hides: true, shorthand: true } as const;

/**
 * Gives the resolved key another name and, if `convert` is given, the value that `convert` returns.
 */
export function as<Name extends string>(name: Name): { readonly name: Name };
export function as<Name extends string, In, Out>(
  name: Name,
  convert: (value: In) => Out,
): { readonly name: Name; readonly convert: (value: In) => Out };
export function as(name: string, convert?: (value: never) => unknown): object {
  return convert === undefined ? { name } : { name, convert };
}

/** Gives the resolved key the value that `convert` returns. */
export const converted = <In, Out>(convert: (value: In) => Out) => ({ convert });

/**
 * Keeps a key in the resolved configuration that {@link ignored} or {@link notSupported} would
 * hide.
 */
export const kept = { keeps: true } as const;

export const milliseconds = (seconds: number): number => seconds * 1000;
export const zeroIsNone = (value: number | null): number | undefined =>
  value === null || value === 0 ? undefined : value;
export const emptyIsNone = (value: string): string | undefined =>
  value === '' ? undefined : value;

/** Type-level mark of an effect. `H` is true if the effect hides the key from `Resolved`. */
export interface Hides<H extends boolean> {
  readonly hides: H;
}
/** Values that the resolved key cannot have, because they are ignored or not supported. */
export interface Without<V> {
  readonly without?: V;
}

declare const effectsOfKey: unique symbol;
/** A schema with the type of its effects. {@link effectsOf} returns the effects. */
export type Key<S, E> = S & { readonly [effectsOfKey]: E };
export type EffectsIn<S> = S extends { readonly [effectsOfKey]: infer E } ? E : never;

const effects = new WeakMap<z.ZodType, readonly Effect[]>();

export const effectsOf = (schema: z.ZodType): readonly Effect[] => effects.get(schema) ?? [];

function withEffects<S extends z.ZodType, E extends readonly Effect<z.output<S>>[]>(
  schema: S,
  own: E,
): Key<S, E[number]> {
  effects.set(schema, own as readonly Effect[]);
  return schema as Key<S, E[number]>;
}

/** Creates a key with a default. */
export const field = <S extends z.ZodType, const E extends readonly Effect<z.output<S>>[] = []>(
  schema: S,
  value: z.output<S>,
  description: string,
  ...own: E
): Key<z.ZodDefault<S>, E[number]> =>
  withEffects(
    schema.default(value as never).describe(description) as z.ZodDefault<S>,
    own as never,
  ) as never;

/** Creates a key without a default. Its value is null if the file does not set the key. */
export const maybe = <
  S extends z.ZodType,
  const E extends readonly Effect<z.output<S> | null>[] = [],
>(
  schema: S,
  description: string,
  ...own: E
): Key<z.ZodDefault<z.ZodNullable<S>>, E[number]> =>
  withEffects(
    schema
      .nullable()
      .default(null as never)
      .describe(description) as z.ZodDefault<z.ZodNullable<S>>,
    own as never,
  ) as never;

export const filledInText = 'Filled in by the run.';

/** Creates a key that Trinity sets itself. */
export const filledIn = () => field(z.unknown(), null, filledInText, derived);

/** Creates a group of keys. Every key has a default, so the group may be left out. */
export const section = <Shape extends z.ZodRawShape, const E extends readonly Effect[] = []>(
  shape: Shape,
  description: string,
  ...own: E
): Key<z.ZodPrefault<z.ZodObject<Shape, z.core.$strict>>, E[number]> =>
  withEffects(
    z
      .strictObject(shape)
      .prefault({} as never)
      .describe(description) as z.ZodPrefault<z.ZodObject<Shape, z.core.$strict>>,
    own as never,
  ) as never;

/** Creates a list of sections. */
export const listOf = <S extends z.ZodType, const E extends readonly Effect[] = []>(
  item: S,
  description: string,
  ...own: E
): Key<z.ZodDefault<z.ZodArray<S>>, E[number]> =>
  withEffects(
    z.array(item).default([]).describe(description) as z.ZodDefault<z.ZodArray<S>>,
    own as never,
  ) as never;

/** Creates several keys with the same schema. */
export const alike = <const Name extends string, S extends z.ZodType>(
  names: readonly Name[],
  key: () => S,
): { readonly [N in Name]: S } =>
  Object.fromEntries(names.map((name) => [name, key()])) as { readonly [N in Name]: S };
