/** Reads the schema by path: expected values, keys and defaults. */
import { z } from 'zod';
import type { KeyPath } from '../source/node.js';
import { expectations } from './scalars.js';

interface Wrapper {
  readonly type: string;
  readonly innerType?: z.ZodType;
  readonly out?: z.ZodType;
  readonly element?: z.ZodType;
  readonly items?: readonly z.ZodType[];
  readonly valueType?: z.ZodType;
  readonly shape?: Readonly<Record<string, z.ZodType>>;
}

function defOf(schema: z.ZodType): Wrapper {
  return schema.def as unknown as Wrapper;
}

/**
 * Returns the schema and the schemas that it wraps, from the outermost to the innermost: default,
 * nullable, cast, and the schema of the value itself.
 */
function layers(schema: z.ZodType): readonly z.ZodType[] {
  const found: z.ZodType[] = [];
  for (let current: z.ZodType | undefined = schema; current !== undefined;) {
    found.push(current);
    const def: Wrapper = defOf(current);
    current = def.type === 'pipe' ? def.out : def.innerType;
  }
  return found;
}

/** Returns the schema of the value itself, without default, nullable and cast. */
export function coreOf(schema: z.ZodType): z.ZodType {
  return layers(schema).at(-1) ?? schema;
}

/**
 * Returns the schema at a path, including its wrappers, or undefined if the path cannot exist.
 * Free-form sections allow any path.
 */
export function schemaAt(root: z.ZodType, path: KeyPath): z.ZodType | undefined {
  let schema: z.ZodType | undefined = root;
  for (const part of path) {
    if (schema === undefined) return undefined;
    const core: z.ZodType = coreOf(schema);
    const def = defOf(core);
    if (def.type === 'object')
      schema = Object.hasOwn(def.shape ?? {}, part) ? def.shape?.[String(part)] : undefined;
    else if (def.type === 'array') schema = def.element;
    else if (def.type === 'tuple') schema = def.items?.[Number(part)];
    else if (def.type === 'record') schema = def.valueType;
    else if (def.type !== 'unknown') return undefined;
  }
  return schema;
}

/** Returns the keys of a section, or an empty list for other schemas. */
export function keysOf(schema: z.ZodType | undefined): readonly string[] {
  if (schema === undefined) return [];
  return Object.keys(defOf(coreOf(schema)).shape ?? {});
}

/** Returns a description of the values that a schema accepts, for messages. */
export function expectedText(schema: z.ZodType | undefined): string {
  if (schema === undefined) return 'nothing here';
  for (const layer of layers(schema)) {
    const known = expectations.get(layer)?.text;
    if (known !== undefined) return known;
  }
  const def = defOf(coreOf(schema));
  if (def.type === 'object') return 'a section of keys';
  if (def.type === 'record') return 'a section of keys of your own';
  if (def.type === 'array') return `a list, each item ${expectedText(def.element)}`;
  return 'a value';
}

/** Returns the names that an enumeration allows. */
export function choicesOf(schema: z.ZodType | undefined): readonly string[] {
  const core = schema === undefined ? undefined : coreOf(schema);
  return core instanceof z.ZodEnum ? core.options.map(String) : [];
}

/**
 * Returns the kind of a value: `section`, `list`, a single `value`, or `anything` if the schema
 * does not restrict the value.
 */
export function kindOf(schema: z.ZodType | undefined): 'section' | 'list' | 'value' | 'anything' {
  const type = schema === undefined ? 'unknown' : defOf(coreOf(schema)).type;
  if (type === 'object' || type === 'record') return 'section';
  if (type === 'array' || type === 'tuple') return 'list';
  return type === 'unknown' ? 'anything' : 'value';
}

export function isNullable(schema: z.ZodType): boolean {
  return layers(schema).some(
    (layer) => defOf(layer).type === 'nullable' || defOf(layer).type === 'unknown',
  );
}

/**
 * Returns the default of a key, in the property `value`, which is null if the key has no default.
 * Returns undefined for a key that does not exist.
 */
export function defaultAt(root: z.ZodType, path: KeyPath): { readonly value: unknown } | undefined {
  const schema = schemaAt(root, path);
  if (schema === undefined) return undefined;
  const parsed = schema.safeParse(undefined);
  return { value: parsed.success ? parsed.data : null };
}

const keysOfRoots = new WeakMap<z.ZodType, ReadonlyMap<string, readonly string[]>>();

/**
 * Returns the paths of all keys in a schema, grouped by key name. `[]` stands for the items of a
 * list.
 */
export function allKeys(root: z.ZodType): ReadonlyMap<string, readonly string[]> {
  const known = keysOfRoots.get(root);
  if (known !== undefined) return known;
  const found = new Map<string, string[]>();
  keysOfRoots.set(root, found);
  const walk = (schema: z.ZodType, path: string): void => {
    const def = defOf(coreOf(schema));
    if (def.type === 'array' && def.element !== undefined) walk(def.element, `${path}[]`);
    for (const [key, child] of Object.entries(def.shape ?? {})) {
      const full = path === '' ? key : `${path}.${key}`;
      found.set(key, [...(found.get(key) ?? []), full]);
      walk(child, full);
    }
  };
  walk(root, '');
  return found;
}
