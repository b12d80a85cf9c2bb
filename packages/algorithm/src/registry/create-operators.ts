/** Creates the operators of an experience pipeline. */
import type { ExperienceOperator } from '@trinity-rft/core';
import { pickRow } from '@trinity-rft/core/support';
import { experienceOperators } from '../operators/table.js';
import type { OperatorPart } from '../parts/part.js';
import type { PartRef } from '../parts/preset.js';

/**
 * Creates the operators in the order in which they are applied.
 * @throws ConfigError for an unknown name or argument
 */
export function createOperators(
  choices: readonly PartRef[],
  table: Readonly<Record<string, OperatorPart>> = experienceOperators,
): readonly ExperienceOperator[] {
  return choices.map(({ name, args }) => ({
    name,
    apply: pickRow('operator', table, name).make(`operator "${name}"`, args),
  }));
}
