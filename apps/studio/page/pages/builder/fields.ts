/** Derives the sections and fields of a form from the JSON Schema of a configuration. */
import { showPath, type KeyPath } from './yaml-edit.js';

export interface Schema {
  readonly type?: string | readonly string[];
  readonly description?: string;
  readonly default?: unknown;
  readonly enum?: readonly unknown[];
  readonly minimum?: number;
  readonly maximum?: number;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema | boolean;
  readonly anyOf?: readonly Schema[];
  readonly deprecated?: boolean;
  readonly pattern?: string;
}

/** Kind of input; `yaml` is a nested value, written as YAML. */
type FieldKind = 'choice' | 'number' | 'text' | 'yaml';

export interface Field {
  readonly name: string;
  readonly path: KeyPath;
  /** Path of the setting, as {@link showPath} formats it and as messages of checks name it. */
  readonly key: string;
  readonly about: string;
  readonly kind: FieldKind;
  readonly choices: readonly string[];
  readonly byDefault: string;
  /** True if the setting has no effect. */
  readonly isIgnored: boolean;
}

export interface Section {
  readonly name: string;
  readonly path: KeyPath;
  readonly key: string;
  readonly about: string;
  readonly fields: readonly Field[];
  readonly sections: readonly Section[];
}

/**
 * Returns the section of the form at `path`, with its fields and subsections. Each item of a list
 * is a section.
 * @param tree current values of the configuration
 */
export function sectionOf(schema: Schema, tree: unknown, path: KeyPath = []): Section {
  const fields: Field[] = [];
  const sections: Section[] = [];
  for (const [name, raw] of Object.entries(schema.properties ?? {})) {
    const at = [...path, name];
    const value = partOf(tree, name);
    const inner = plainOf(raw);
    const withKeys = inner.find((each) => each.properties !== undefined);
    const listed = inner.find((each) => typeof each.items === 'object' && isSection(each.items));
    const items = listed?.items;
    if (Array.isArray(value) && typeof items === 'object')
      value.forEach((item: unknown, i) => {
        const of = plainOf(items).find((each) => each.properties !== undefined) ?? items;
        sections.push({ ...sectionOf(of, item, [...at, i]), about: raw.description ?? '' });
      });
    else if (withKeys && !Array.isArray(value))
      sections.push({ ...sectionOf(withKeys, value, at), about: raw.description ?? '' });
    else fields.push(fieldOf(name, at, raw, inner));
  }
  const key = showPath(path);
  return { name: key, path, key, about: schema.description ?? '', fields, sections };
}

const isSection = (schema: Schema): boolean =>
  plainOf(schema).some(({ properties }) => properties !== undefined);

const partOf = (tree: unknown, name: string): unknown =>
  typeof tree === 'object' && tree !== null
    ? (tree as Readonly<Record<string, unknown>>)[name]
    : undefined;

/**
 * Returns the alternatives that a schema allows, without null and without strings that must match a
 * pattern.
 */
function plainOf(schema: Schema): readonly Schema[] {
  if (schema.anyOf === undefined) return [schema];
  return schema.anyOf.flatMap(plainOf).filter(({ type, pattern }) => type !== 'null' && !pattern);
}

function fieldOf(name: string, path: KeyPath, raw: Schema, inner: readonly Schema[]): Field {
  const choices = inner.flatMap(({ type, enum: values }) =>
    values ? values.map(String) : type === 'boolean' ? ['true', 'false'] : [],
  );
  const isNumber = inner.some(({ type }) => type === 'integer' || type === 'number');
  const isText = inner.some(({ type }) => type === 'string' || type?.includes('string'));
  const kind = choices.length > 0 ? 'choice' : isNumber ? 'number' : isText ? 'text' : 'yaml';
  return {
    name,
    path,
    key: showPath(path),
    about: raw.description ?? '',
    kind,
    choices,
    byDefault: raw.default === null || raw.default === undefined ? '' : shown(raw.default),
    isIgnored: raw.deprecated === true,
  };
}

/** Returns the text that an input field shows for a value. */
export const shown = (value: unknown): string =>
  value === undefined || value === null
    ? ''
    : typeof value === 'object'
      ? JSON.stringify(value)
      : String(value as string | number | boolean);

export function valueAt(tree: unknown, path: KeyPath): unknown {
  let value = tree;
  for (const part of path) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as Readonly<Record<string | number, unknown>>)[part];
  }
  return value;
}

export interface Filter {
  readonly tree: unknown;
  /**
   * Text to search for, in lower case. If it is empty, the form shows the settings that are set or
   * have findings; if `showsAll` is true, also all other settings that have an effect.
   */
  readonly search: string;
  readonly showsAll: boolean;
  /** Keys for which the check reported problems. */
  readonly marked: ReadonlySet<string>;
}

/** Section with only its visible fields and subsections; undefined if nothing is visible. */
export function filtered(section: Section, filter: Filter): Section | undefined {
  const { tree, search, showsAll, marked } = filter;
  const isShown = ({ key, path, about, isIgnored }: Field): boolean => {
    const isSet = valueAt(tree, path) !== undefined;
    if (search !== '') return `${key} ${about}`.toLowerCase().includes(search);
    return isSet || marked.has(key) || (showsAll && !isIgnored);
  };
  const fields = section.fields.filter(isShown);
  const sections = section.sections.flatMap((each) => filtered(each, filter) ?? []);
  return fields.length + sections.length === 0 ? undefined : { ...section, fields, sections };
}
