/** Creates the JSON Schema of the configuration file, for completion and checks in editors. */
import { z } from 'zod';
import { builtInTables, type AlgorithmTables } from '@trinity-rft/algorithm';
import { argConditions } from './json-schema-args.js';
import type { EngineFactsTable } from '../schema/engines.js';
import { keyAliases } from '../schema/aliases.js';
import { schemasOf } from '../schema/root.js';
import { expectations } from '../schema/scalars.js';
import { statusesOf, type KeyStatus } from '../schema/status.js';

export type JsonSchema = { [key: string]: unknown };

export interface JsonSchemaOptions {
  /**
   * Algorithms and their parts, such as loss functions, that the file may name. @default the
   * built-in tables
   */
  readonly algorithms?: AlgorithmTables;
  /** Engines that the file may choose. */
  readonly engines: EngineFactsTable;
}

/**
 * Returns a JSON Schema of draft 7, which editors support best. Numbers, booleans and names may
 * also be written as `${...}`. Old names of keys are allowed. Descriptions mark keys that are
 * ignored or not supported. The schema accepts all files that `parseConfig` accepts, except names
 * in another case, numbers and booleans in quotes, and unused arguments.
 */
export function configJsonSchema({
  algorithms = builtInTables,
  engines,
}: JsonSchemaOptions): JsonSchema {
  const { file, run } = schemasOf({ algorithms, engines });
  const schema = toJson(file);
  const stages = stageSections(schema);
  for (const section of [schema, ...stages]) {
    for (const alias of keyAliases) addAlias(section, alias.section, alias.from, alias.to);
    addStatuses(section, statusesOf(run));
  }
  const conditions = argConditions(algorithms, (args) => without(toJson(args), '$schema'));
  addConditions(propertyAt(schema, ['algorithm']), conditions.algorithm);
  for (const stage of stages) addConditions(propertyAt(stage, ['algorithm']), conditions.stage);
  for (const section of [schema, ...stages])
    addConditions(
      sectionOf(propertyAt(section, ['data_processor', 'experience_pipeline', 'operators'])),
      conditions.operator,
    );
  for (const stage of stageSections(schema)) stage['required'] = ['stage_name'];
  return { ...schema, title: 'Trinity-RFT configuration', definitions: conditions.definitions };
}

const toJson = (schema: z.ZodType): JsonSchema =>
  z.toJSONSchema(schema, {
    target: 'draft-7',
    io: 'output',
    unrepresentable: 'any',
    override: ({ zodSchema, jsonSchema }) =>
      relax(jsonSchema, expectations.get(zodSchema as unknown as z.ZodType)?.aliases ?? []),
  }) as JsonSchema;

const without = (schema: JsonSchema, key: string): JsonSchema =>
  Object.fromEntries(Object.entries(schema).filter(([name]) => name !== key));

function addConditions(section: JsonSchema | undefined, conditions: readonly JsonSchema[]): void {
  if (section !== undefined) section['allOf'] = [...conditions];
}

/**
 * Makes the keys of a schema optional, and allows an interpolation for every value that is not a
 * string.
 */
function relax(schema: JsonSchema, aliases: readonly string[]): void {
  if (aliases.length > 0) allowNames(schema, aliases);
  delete schema['required'];
  for (const bound of ['minimum', 'maximum']) {
    if (Math.abs(Number(schema[bound])) === Number.MAX_SAFE_INTEGER) delete schema[bound];
  }
  if (schema['type'] === 'string' && schema['enum'] === undefined)
    schema['type'] = ['string', 'number'];
  const scalar =
    schema['enum'] !== undefined ||
    ['integer', 'number', 'boolean'].includes(String(schema['type']));
  if (!scalar) return;
  const inner = { ...schema };
  for (const key of Object.keys(schema)) delete schema[key];
  schema['anyOf'] = [inner, { type: 'string', pattern: '\\$\\{' }];
}

/** Adds names to the enumeration inside a schema. */
function allowNames(schema: JsonSchema, names: readonly string[]): void {
  const options = [schema, ...((schema['anyOf'] as JsonSchema[] | undefined) ?? [])];
  for (const option of options)
    if (Array.isArray(option['enum'])) option['enum'] = [...(option['enum'] as string[]), ...names];
}

function stageSections(schema: JsonSchema): readonly JsonSchema[] {
  const stages = propertyAt(schema, ['stages']);
  const item = stages?.['items'];
  return item === undefined ? [] : [item as JsonSchema];
}

/**
 * Returns the schema of the key at `path`, or undefined if there is no such key. `path` omits list
 * indices.
 */
function propertyAt(schema: JsonSchema, path: readonly string[]): JsonSchema | undefined {
  let current: JsonSchema | undefined = schema;
  for (const name of path)
    current = (sectionOf(current)?.['properties'] as Record<string, JsonSchema> | undefined)?.[
      name
    ];
  return current;
}

function sectionOf(schema: JsonSchema | undefined): JsonSchema | undefined {
  if (schema === undefined || schema['properties'] !== undefined) return schema;
  const inner = (schema['items'] ??
    (schema['anyOf'] as JsonSchema[] | undefined)?.find(
      (option) => option['type'] === 'object' || option['items'] !== undefined,
    )) as JsonSchema | undefined;
  return inner === undefined ? undefined : sectionOf(inner);
}

function addAlias(root: JsonSchema, section: readonly string[], from: string, to: string): void {
  const target = sectionOf(propertyAt(root, section));
  const properties = target?.['properties'] as Record<string, JsonSchema> | undefined;
  const known = properties?.[to];
  if (properties === undefined || known === undefined) return;
  properties[from] =
    from === to
      ? { anyOf: [known, ...single(known)], description: known['description'] }
      : { ...known, description: `Another name of ${to}.` };
}

/**
 * Returns the schema of a list's items as an alternative to the list, because the file may contain
 * one item instead. Returns an empty list if the schema is not that of a list.
 */
function single(schema: JsonSchema): readonly JsonSchema[] {
  return schema['items'] === undefined ? [] : [schema['items'] as JsonSchema];
}

const suffixes = { notSupported: 'Not supported', ignored: 'Ignored' } as const;

function addStatuses(root: JsonSchema, rows: readonly KeyStatus[]): void {
  for (const row of rows) {
    const property = propertyAt(
      root,
      row.path.split('.').filter((part) => part !== '*'),
    );
    if (property === undefined) continue;
    const values =
      row.values === undefined
        ? ''
        : ` (${row.values.map((value) => JSON.stringify(value)).join(', ')})`;
    const own = typeof property['description'] === 'string' ? property['description'] : '';
    property['description'] = `${own} ${suffixes[row.status]}${values}: ${row.note}`.trim();
    if (row.status === 'ignored' && row.values === undefined) property['deprecated'] = true;
  }
}
