/**
 * Table of task operators. Operators and arguments that have the same name as in Data-Juicer also
 * have the same meaning.
 */
import { ConfigError } from '@trinity-rft/core';
import type { TaskOperatorDefinition } from './definition/operator.js';
import { documentDeduplicator } from './operators/document-deduplicator.js';
import {
  requiredFieldsFilter,
  specifiedFieldFilter,
  specifiedNumericFieldFilter,
} from './operators/field-filters.js';
import { llmDifficultyScoreFilter, llmQualityScoreFilter } from './operators/llm-score-filters.js';
import { orderBy } from './operators/order-by.js';
import {
  alphanumericFilter,
  repetitionFilter,
  textLengthFilter,
} from './operators/text-filters.js';

export const taskOperators: readonly TaskOperatorDefinition[] = [
  requiredFieldsFilter,
  specifiedFieldFilter,
  specifiedNumericFieldFilter,
  textLengthFilter,
  alphanumericFilter,
  repetitionFilter,
  documentDeduplicator,
  llmDifficultyScoreFilter,
  llmQualityScoreFilter,
  orderBy,
];

/** Task operators by name. */
export interface TaskOperatorTable {
  names(): readonly string[];
  find(name: string): TaskOperatorDefinition | undefined;
}

/**
 * Returns the table of built-in operators and operators of plugins.
 * @throws ConfigError for duplicate names
 */
export function taskOperatorTable(own: readonly TaskOperatorDefinition[] = []): TaskOperatorTable {
  const byName = new Map<string, TaskOperatorDefinition>();
  for (const operator of [...taskOperators, ...own]) {
    if (byName.has(operator.name))
      throw new ConfigError(
        `A task operator named "${operator.name}" exists already. Choose another name.`,
        { code: 'DUPLICATE_NAME', details: { name: operator.name } },
      );
    byName.set(operator.name, operator);
  }
  return { names: () => [...byName.keys()], find: (name) => byName.get(name) };
}
