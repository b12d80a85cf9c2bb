/** Templates of graders: `{{ item.answer }}`, `{{ sample.output_tools[0].function.name }}`. */
import { ConfigError } from '@trinity-rft/core';
import { graderFault } from './fault.js';
import type { GraderSample } from './sample.js';

/** Values to which templates can refer, as `item` and `sample`. */
export interface Namespaces {
  readonly item: Readonly<Record<string, unknown>>;
  readonly sample: GraderSample;
}

export type Template = (values: Namespaces) => string;

interface Variable {
  readonly name: string;
  readonly path: readonly (string | number)[];
}

const sampleFields = ['output_text', 'output_json', 'output_tools', 'choices'];
const pathForm = /^(?<root>item|sample)(?<rest>(?:\.[\p{L}\p{N}_$-]+|\[\d+\])+)$/u;

/**
 * Parses a template that can be filled in for many answers. Strings are inserted unchanged, other
 * values as JSON. Placeholders in inserted strings are not replaced.
 * @throws ConfigError for a placeholder that is not a path into `item` or `sample`, or that has no
 * `}}`
 */
export function parseTemplate(text: string): Template {
  const [start = '', ...others] = text.split('{{');
  const pieces = others.map((piece) => {
    const end = piece.indexOf('}}');
    if (end < 0) throw refused('{{', 'is not closed by }}');
    return { variable: parseVariable(piece.slice(0, end).trim()), rest: piece.slice(end + 2) };
  });
  return (values) =>
    start + pieces.map(({ variable, rest }) => shown(valueOf(variable, values)) + rest).join('');
}

function parseVariable(name: string): Variable {
  const { root, rest } = pathForm.exec(name)?.groups ?? {};
  if (root === undefined || rest === undefined)
    throw refused(
      `{{ ${name} }}`,
      'is not a path into item or sample, such as item.answer or sample.output_text',
    );
  const steps = [...rest.matchAll(/\.([^.[]+)|\[(\d+)\]/g)].map(
    ([, key, index]) => key ?? Number(index),
  );
  if (root === 'sample' && !sampleFields.includes(String(steps[0])))
    throw refused(`{{ ${name} }}`, `is none of sample.${sampleFields.join(', sample.')}`);
  return { name, path: [root, ...steps] };
}

const refused = (what: string, problem: string): ConfigError =>
  new ConfigError(`${what} in a template ${problem}`, { code: 'GRADER_TEMPLATE' });

function valueOf({ name, path }: Variable, values: Namespaces): unknown {
  let value: unknown = values;
  for (const key of path) {
    const isThere = typeof value === 'object' && value !== null && Object.hasOwn(value, key);
    value = isThere ? (value as Readonly<Record<string | number, unknown>>)[key] : undefined;
    if (value === undefined) throw missing(name, values);
  }
  return value;
}

function missing(name: string, { sample, item }: Namespaces): Error {
  if (name.startsWith('sample.output_json') && sample.output_json === undefined)
    return graderFault(
      'sample_parse_error',
      `The grader reads ${name}, but the answer is not JSON: ${JSON.stringify(sample.output_text.slice(0, 80))}.`,
    );
  const known = name.startsWith('item') ? ` The row has ${Object.keys(item).join(', ')}.` : '';
  return graderFault(
    'invalid_variable_error',
    `The grader reads ${name}, which is not there.${known}`,
  );
}

const shown = (value: unknown): string =>
  typeof value === 'string' ? value : (JSON.stringify(value) ?? '');
