import { booleanArg, type RawTask } from '@trinity-rft/core';
import { fieldOf } from '@trinity-rft/core/internal';
import { defineTaskOperator } from '../definition/operator.js';
import { columnOf, fieldKey } from './field-filters.js';

/**
 * Orders tasks by the value of a column: numbers by size, and strings by their UTF-16 code units.
 * Tasks with any other value come last.
 */
export const orderBy = defineTaskOperator({
  name: 'order_by',
  args: {
    fieldKey,
    descending: booleanArg(false, 'Largest first.'),
  },
  create: (args) => {
    const field = columnOf('order_by', args.fieldKey);
    const sign = args.descending ? -1 : 1;
    return {
      column: field,
      compare: (a, b) => compareValues(valueOf(a, field), valueOf(b, field), sign),
    };
  },
});

type Sortable = number | string | undefined;

function valueOf(rawTask: RawTask, field: string): Sortable {
  const value = fieldOf(rawTask, field);
  return typeof value === 'string' || Number.isFinite(value) ? (value as Sortable) : undefined;
}

function compareValues(a: Sortable, b: Sortable, sign: number): number {
  if (a === b) return 0;
  if (a === undefined || b === undefined) return a === undefined ? 1 : -1;
  if (typeof a !== typeof b) return typeof a === 'number' ? -1 : 1;
  return a < b ? -sign : sign;
}
