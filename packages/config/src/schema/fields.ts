/**
 * Keys and sections of the schema. A key states here everything about itself: type, default,
 * description, and its effects: whether it is ignored or not built, and what it is called in the
 * resolved configuration.
 */
import { z } from 'zod';

/**
 * - `notBuilt`: a problem, because the feature behind the key does not exist yet.
 * - `ignoredHarmless`: a warning; the key tunes the Python stack, and a run means the same without
 *   it.
 */
export type KeyStatusName = 'notBuilt' | 'ignoredHarmless';

/** Which values a status is about. @default all but the default of the key */
export interface StatusOptions<V = unknown> {
  readonly values?: readonly V[];
  /** All but these. */
  readonly except?: readonly unknown[];
  /** A key inside a free-form section: `actor.ppo_epochs`. */
  readonly inside?: string;
}

export interface StatusEffect extends StatusOptions {
  readonly status: KeyStatusName;
  /** Why, and what to do instead. */
  readonly note: string;
}

/** What a key does besides having a value. `In` is the value in YAML, null where it is not set. */
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

/** Accepted with a warning. Without `values` the key is not in the resolved configuration. */
export const ignored = statusOf('ignoredHarmless');

/** A problem when it is set. Without `values` the key is not in the resolved configuration. */
export const notBuilt = statusOf('notBuilt');

/** Only these values of a text are built, and no text at all. */
export function builtOnly<const V extends string>(values: readonly V[]) {
  const note = `Built: ${values.join(', ')}.`;
  return [
    notBuilt(note, { except: [null, ...values] }),
    converted((value: string | null) => (value ?? undefined) as V | undefined),
  ] as const;
}

/** Its value in the resolved configuration depends on more than the key; `resolve/` says on what. */
export const derived = { hides: true } as const;

/** It means something only together with another key, which is ignored or not built. */
export const unused = derived;

/** Another way to write a key beside it, which has replaced it before the file is checked. */
export const shorthand = { hides: true, shorthand: true } as const;

/** In the resolved configuration it has another name. */
export const renamed = <Name extends string>(name: Name) => ({ name });

/** In the resolved configuration it has another name, and the value that `convert` returns. */
export const as = <Name extends string, In, Out>(name: Name, convert: (value: In) => Out) => ({
  name,
  convert,
});

/** In the resolved configuration it has the value that `convert` returns. */
export const converted = <In, Out>(convert: (value: In) => Out) => ({ convert });

/** In the resolved configuration although it is ignored. */
export const kept = { keeps: true } as const;

export const milliseconds = (seconds: number): number => seconds * 1000;
export const zeroIsNone = (value: number | null): number | undefined =>
  value === null || value === 0 ? undefined : value;
export const emptyIsNone = (value: string): string | undefined =>
  value === '' ? undefined : value;

/** What `hides` and `values` of an effect mean for the types of the resolved configuration. */
export interface Hides<H extends boolean> {
  readonly hides: H;
}
export interface Without<V> {
  readonly without?: V;
}

declare const effectsOfKey: unique symbol;
/** A schema with its effects, which only types can see; {@link effectsOf} reads them. */
export type Key<S, E> = S & { readonly [effectsOfKey]: E };
export type EffectsIn<S> = S extends { readonly [effectsOfKey]: infer E } ? E : never;

const effects = new WeakMap<z.ZodType, readonly Effect[]>();

export const effectsOf = (schema: z.ZodType): readonly Effect[] => effects.get(schema) ?? [];

export function withEffects<S extends z.ZodType, E extends readonly Effect<z.output<S>>[]>(
  schema: S,
  own: E,
): Key<S, E[number]> {
  effects.set(schema, own as readonly Effect[]);
  return schema as Key<S, E[number]>;
}

/** A key that has a value when the file does not set it. */
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

/** A key that is null when the file does not set it. */
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

/** A key that a run fills in by itself. */
export const filledIn = () => field(z.unknown(), null, filledInText, unused);

/** A group of keys; every key has a default, so an absent section is complete. */
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

/** A list of sections. */
export const listOf = <S extends z.ZodType, const E extends readonly Effect[] = []>(
  item: S,
  description: string,
  ...own: E
): Key<z.ZodDefault<z.ZodArray<S>>, E[number]> =>
  withEffects(
    z.array(item).default([]).describe(description) as z.ZodDefault<z.ZodArray<S>>,
    own as never,
  ) as never;

/** Keys that are alike. */
export const alike = <const Name extends string, S extends z.ZodType>(
  names: readonly Name[],
  key: () => S,
): { readonly [N in Name]: S } =>
  Object.fromEntries(names.map((name) => [name, key()])) as { readonly [N in Name]: S };
