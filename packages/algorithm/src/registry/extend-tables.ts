/** Extends the tables with the definitions of plugins. */
import { ConfigError } from '@trinity-rft/core';
import { pickRow } from '@trinity-rft/core/support';
import type { AlgorithmTables } from './tables.js';
import type { AlgorithmDefinition, Definition } from './definitions.js';

const tableOf = {
  'trinity-rft.algorithm': { table: 'presets', what: 'algorithm' },
  'trinity-rft.advantage': { table: 'advantageFns', what: 'advantage function' },
  'trinity-rft.policy-loss': { table: 'policyLossFns', what: 'policy loss' },
  'trinity-rft.operator': { table: 'operators', what: 'operator' },
} as const satisfies Readonly<
  Record<Definition['kind'], { readonly table: keyof AlgorithmTables; readonly what: string }>
>;

/**
 * Returns copies of the tables with the definitions added. For an algorithm, also adds the parts
 * that its definition contains. A definition that occurs twice is added once.
 * @throws ConfigError for a name that is taken, and for an algorithm with an unknown part
 */
export function extendTables(
  tables: AlgorithmTables,
  definitions: readonly Definition[],
): AlgorithmTables {
  const all = new Set(
    definitions.flatMap((definition) =>
      'parts' in definition ? [...definition.parts, definition] : [definition],
    ),
  );
  const extended = {
    ...tables,
    presets: { ...tables.presets },
    advantageFns: { ...tables.advantageFns },
    policyLossFns: { ...tables.policyLossFns },
    operators: { ...tables.operators },
  };
  for (const definition of all) {
    const { table, what } = tableOf[definition.kind];
    if (Object.hasOwn(extended[table], definition.name))
      throw taken(what, definition.name, Object.hasOwn(tables[table], definition.name));
    Object.assign(extended[table], { [definition.name]: definition.row });
  }
  for (const definition of all)
    if (definition.kind === 'trinity-rft.algorithm') assertParts(definition, extended);
  return extended;
}

function taken(what: string, name: string, builtIn: boolean): ConfigError {
  const by = builtIn ? 'already exists' : 'is defined twice';
  return new ConfigError(`The ${what} "${name}" ${by}. Give yours another name.`, {
    code: 'DUPLICATE_NAME',
    details: { what, name },
  });
}

function assertParts({ name, row }: AlgorithmDefinition, tables: AlgorithmTables): void {
  const of = (what: string): string => `${what} of algorithm "${name}":`;
  if (row.advantageFn) pickRow(of('advantage function'), tables.advantageFns, row.advantageFn.name);
  pickRow(of('policy loss'), tables.policyLossFns, row.policyLossFn.name);
  pickRow(of('KL loss'), tables.klFns, row.klLossFn.name);
  pickRow(of('KL penalty'), tables.klFns, row.klPenaltyFn?.name ?? 'none');
  pickRow(of('entropy loss'), tables.entropyLossFns, row.entropyLossFn.name);
  pickRow(of('sample strategy'), tables.sampleStrategies, row.sampleStrategy.name);
  for (const operator of row.operators ?? [])
    pickRow(of('operator'), tables.operators, operator.name);
}
