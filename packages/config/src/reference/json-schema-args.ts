/** Arguments of algorithm parts in the JSON Schema, which depend on the name of the part. */
import type { AlgorithmPreset, AlgorithmTables, PartRef } from '@trinity-rft/algorithm';
import type { ArgSpec } from '@trinity-rft/core';
import type { z } from 'zod';
import { argsSchema } from '../schema/args.js';

type JsonSchema = { [key: string]: unknown };

interface PartTable {
  /** The key that holds the name of the part; `<key>_args` holds its arguments. */
  readonly key: string;
  readonly table: Readonly<Record<string, { readonly args: ArgSpec }>>;
  readonly ofPreset: (preset: AlgorithmPreset) => PartRef | undefined;
}

const partTables = (tables: AlgorithmTables): readonly PartTable[] => [
  { key: 'advantage_fn', table: tables.advantageFns, ofPreset: ({ advantageFn }) => advantageFn },
  {
    key: 'policy_loss_fn',
    table: tables.policyLossFns,
    ofPreset: ({ policyLossFn }) => policyLossFn,
  },
  { key: 'kl_loss_fn', table: tables.klFns, ofPreset: ({ klLossFn }) => klLossFn },
  {
    key: 'kl_penalty_fn',
    table: tables.klFns,
    ofPreset: ({ klPenaltyFn }) => klPenaltyFn ?? { name: 'none' },
  },
  {
    key: 'entropy_loss_fn',
    table: tables.entropyLossFns,
    ofPreset: ({ entropyLossFn }) => entropyLossFn,
  },
  {
    key: 'sample_strategy',
    table: tables.sampleStrategies,
    ofPreset: ({ sampleStrategy }) => sampleStrategy,
  },
];

export interface ArgConditions {
  /** Schemas by name, for `definitions` of the root. */
  readonly definitions: Readonly<Record<string, JsonSchema>>;
  /**
   * Conditions for `allOf` of the `algorithm` section at the top level, where the algorithm
   * determines the parts that are not set.
   */
  readonly algorithm: readonly JsonSchema[];
  /** Conditions for the `algorithm` section of a stage, which may inherit the name of a part. */
  readonly stage: readonly JsonSchema[];
  /** Conditions for an item of `operators`. */
  readonly operator: readonly JsonSchema[];
}

/** @param toJson turns the schema of the file into a JSON Schema */
export function argConditions(
  tables: AlgorithmTables,
  toJson: (schema: z.ZodType) => JsonSchema,
): ArgConditions {
  const definitions: Record<string, JsonSchema> = {};
  const define = (key: string, name: string, spec: ArgSpec): JsonSchema => {
    definitions[`${key}.${name}`] = toJson(argsSchema(spec, `Arguments of ${name}.`));
    return { anyOf: [{ $ref: `#/definitions/${key}.${name}` }, { type: ['null', 'string'] }] };
  };
  const rows = partTables(tables).flatMap(({ key, table, ofPreset }) =>
    Object.entries(table).map(([name, { args }]) => {
      const presets = Object.entries(tables.presets).filter(
        ([, preset]) => ofPreset(preset)?.name === name,
      );
      const consequence = { properties: { [`${key}_args`]: define(key, name, args) } };
      return {
        chosen: has(key, name),
        implied: implied(
          key,
          presets.map(([preset]) => preset),
        ),
        consequence,
      };
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

/** Not a literal, because linters take an object with the key `then` for a promise. */
const implies = (condition: JsonSchema, consequence: JsonSchema): JsonSchema =>
  Object.fromEntries(new Map([['if', condition]]).set('then', consequence));

const has = (key: string, value: string): JsonSchema => ({
  properties: { [key]: { const: value } },
  required: [key],
});

/** Condition that the key is not set and the algorithm is one of `presets`. */
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
