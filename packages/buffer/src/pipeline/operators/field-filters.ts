/** Filters tasks by their columns. */
import { ConfigError, listArg, numberArg, stringArg } from '@trinity-rft/core';
import { fieldOf, hasValue } from '@trinity-rft/core/internal';
import { defineTaskOperator } from '../definition/operator.js';
import { isText } from './texts.js';

export const fieldKey = stringArg('The column. One inside of another is written with a dot.');

/**
 * Returns the column that an operator is configured to read.
 * @throws ConfigError if no column is configured
 */
export function columnOf(operator: string, field: string | undefined): string {
  if (field !== undefined && field !== '') return field;
  throw new ConfigError(`${operator} needs field_key: the column that it looks at.`, {
    code: 'ARGUMENT_MISSING',
    details: { name: 'fieldKey' },
  });
}

export const requiredFieldsFilter = defineTaskOperator({
  name: 'required_fields_filter',
  args: {
    fields: listArg('columns', isText, 'Columns that need a value. Default: target_fields.'),
  },
  create:
    ({ fields: own }) =>
    (rawTask, { fields }) => {
      const wanted = own.length > 0 ? own : fields;
      const missing = wanted.find((field) => !hasValue(fieldOf(rawTask, field)));
      return missing === undefined ? undefined : { drop: `nothing under "${missing}"` };
    },
});

/** Keeps a task with a list if all its entries are among the values, as in Data-Juicer. */
export const specifiedFieldFilter = defineTaskOperator({
  name: 'specified_field_filter',
  args: {
    fieldKey,
    targetValue: listArg(
      'values',
      (value): value is unknown => value !== undefined,
      'Values that are kept.',
    ),
  },
  create: (args) => {
    const field = columnOf('specified_field_filter', args.fieldKey);
    const wanted = new Set(args.targetValue);
    return (rawTask) => {
      const value = fieldOf(rawTask, field);
      return [value].flat().every((one) => wanted.has(one))
        ? undefined
        : { drop: `another value under "${field}"`, details: JSON.stringify(value) };
    };
  },
});

export const specifiedNumericFieldFilter = defineTaskOperator({
  name: 'specified_numeric_field_filter',
  args: {
    fieldKey,
    minValue: numberArg(undefined, {}, 'Smallest value that is kept. Default: no limit.'),
    maxValue: numberArg(undefined, {}, 'Largest value that is kept. Default: no limit.'),
  },
  create: (args) => {
    const { minValue = -Infinity, maxValue = Infinity } = args;
    const field = columnOf('specified_numeric_field_filter', args.fieldKey);
    return (rawTask) => {
      const value = fieldOf(rawTask, field);
      if (typeof value !== 'number') return { drop: `no number under "${field}"` };
      if (value >= minValue && value <= maxValue) return undefined;
      return { drop: `"${field}" not within ${minValue} to ${maxValue}`, details: `${value}` };
    };
  },
});
