/**
 * Creates conditions for the JSON Schema, which select the schema of a part's arguments by the name
 * of the part.
 */
import type { AlgorithmTables } from '@trinity-rft/algorithm';
import type { ArgSpec } from '@trinity-rft/core';
import type { z } from 'zod';
import { argsSchema } from '../schema/args.js';

type JsonSchema = { [key: string]: unknown };

/**
 * Kinds of parts. Each item contains the YAML key that names the part (`<key>_args` contains its
 * arguments), the corresponding field of presets, and the corresponding table.
 */
const partTables = [
  ['advantage_fn', 'advantageFn', 'advantageFns'],
  ['policy_loss_fn', 'policyLossFn', 'policyLossFns'],
  ['kl_loss_fn', 'klLossFn', 'klFns'],
  ['kl_penalty_fn', 'klPenaltyFn', 'klFns'],
  ['entropy_loss_fn', 'entropyLossFn', 'entropyLossFns'],
  ['sample_strategy', 'sampleStrategy', 'sampleStrategies'],
] as const;

export interface ArgConditions {
  /** Schemas of arguments by name, for the `definitions` of the root schema. */
  readonly definitions: Readonly<Record<string, JsonSchema>>;
  /**
   * Conditions for the `algorithm` section at the top level, where the preset of the algorithm
   * provides the parts that are not set.
   */
  readonly algorithm: readonly JsonSchema[];
  /**
   * Conditions for the `algorithm` section of a stage. They only apply to parts that the stage
   * names itself, because it may inherit other names.
   */
  readonly stage: readonly JsonSchema[];
  /** Conditions for an item of `operators`. */
  readonly operator: readonly JsonSchema[];
}

/**
 * Returns the conditions for the arguments of all parts in the tables.
 * @param toJson converts a schema of arguments to a JSON Schema
 */
export function argConditions(
  tables: AlgorithmTables,
  toJson: (schema: z.ZodType) => JsonSchema,
): ArgConditions {
  const definitions: Record<string, JsonSchema> = {};
  const define = (key: string, name: string, spec: ArgSpec): JsonSchema => {
    definitions[`${key}.${name}`] = toJson(argsSchema(spec, `Arguments of ${name}.`));
    return { anyOf: [{ $ref: `#/definitions/${key}.${name}` }, { type: ['null', 'string'] }] };
  };
  const rows = partTables.flatMap(([key, field, table]) =>
    Object.entries<{ readonly args: ArgSpec }>(tables[table]).map(([name, { args }]) => {
      const presets = Object.entries(tables.presets).flatMap(([preset, parts]) =>
        (parts[field]?.name ?? 'none') === name ? [preset] : [],
      );
      const consequence = { properties: { [`${key}_args`]: define(key, name, args) } };
      return { chosen: has(key, name), implied: implied(key, presets), consequence };
    }),
  );
  return {
    definitions,
    algorithm: rows.map(({ chosen, implied: other, consequence }) =>
      implies({ anyOf: [chosen, ...other] }, consequence),
    ),
    stage: rows.map(({ chosen, consequence }) => implies(chosen, consequence)),
    operator: Object.entries(tables.operators).map(([name, { args }]) =>
      implies(has('name', name), { properties: { args: define('operator', name, args) } }),
    ),
  };
}

/**
 * Creates an if-then schema. The schema is not an object literal, because linters treat an object
 * with the key `then` as a promise.
 */
const implies = (condition: JsonSchema, consequence: JsonSchema): JsonSchema =>
  Object.fromEntries(new Map([['if', condition]]).set('then', consequence));

const has = (key: string, value: string): JsonSchema => ({
  properties: { [key]: { const: value } },
  required: [key],
});

/** Returns the condition that the key is not set and that the algorithm is one of `presets`. */
const implied = (key: string, presets: readonly string[]): readonly JsonSchema[] =>
  presets.length === 0
    ? []
    : [
        {
          not: { required: [key] },
          properties: { algorithm_type: { enum: presets } },
          required: ['algorithm_type'],
        },
      ];
