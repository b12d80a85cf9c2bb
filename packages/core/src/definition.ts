/** Checks the options with which plugins define workflows, rewards, losses and other parts. */
import { ConfigError } from './errors.js';
import { shown } from './returned.js';
import { didYouMean } from './suggest.js';

const namePattern = /^[\w.:/@-]+$/;

const isFunction = (value: unknown): boolean => typeof value === 'function';

const isSchema = (value: unknown): boolean =>
  isFunction((value as { '~standard'?: { validate?: unknown } } | null)?.['~standard']?.validate);

const isArgs = (value: unknown): boolean =>
  typeof value === 'object' &&
  value !== null &&
  Object.values(value).every((arg) => isFunction((arg as { accepts?: unknown } | null)?.accepts));

const forms = {
  value: { accepts: () => true, expected: '' },
  text: { accepts: (value) => typeof value === 'string', expected: 'a text' },
  function: { accepts: isFunction, expected: 'a function' },
  workflow: {
    accepts: (value) =>
      isFunction((value as { prototype?: { attach?: unknown } } | null)?.prototype?.attach),
    expected: 'a class that extends Workflow',
  },
  schema: { accepts: isSchema, expected: 'a schema of zod or another Standard Schema library' },
  args: { accepts: isArgs, expected: 'arguments by name, such as { floor: numberArg(0.5) }' },
} satisfies Record<string, { accepts: (value: unknown) => boolean; expected: string }>;

/** Form of an option; one with `?` may be undefined. */
export type OptionForm = 'value' | `${Exclude<keyof typeof forms, 'value'>}${'' | '?'}`;

/**
 * Checks the options of a definition at run time, because a plugin may be JavaScript or written for
 * another version. Returns the name.
 * @param what noun at the beginning of error messages, such as "Workflow"
 * @throws ConfigError for a name with characters other than ASCII letters, digits and `_.:/@-`, for
 * an unknown option, and for an option of another form
 */
export function checkDefinition<Options extends { readonly name: string }>(
  what: string,
  options: Options,
  formOf: Readonly<Record<Exclude<keyof Options & string, 'name'>, OptionForm>>,
): string {
  const { name } = options;
  if (typeof name !== 'string' || !namePattern.test(name))
    throw new ConfigError(
      `${what} name ${JSON.stringify(name)} is invalid. Use letters, digits and any of _ . : / @ -`,
      { code: 'NAME_INVALID' },
    );
  const refuse = (text: string): ConfigError =>
    new ConfigError(`${what} "${name}" ${text}`, { code: 'DEFINITION_INVALID' });
  const known = ['name', ...Object.keys(formOf)];
  const unknown = Object.keys(options).find((key) => !known.includes(key));
  if (unknown !== undefined)
    throw refuse(
      `has no option "${unknown}".${didYouMean(unknown, known)} It takes ${known.join(', ')}.`,
    );
  for (const [key, form] of Object.entries<OptionForm>(formOf)) {
    const value = (options as Readonly<Record<string, unknown>>)[key];
    if (value === undefined && form.endsWith('?')) continue;
    const { accepts, expected } = forms[form.replace('?', '') as keyof typeof forms];
    if (accepts(value)) continue;
    throw refuse(
      value === undefined
        ? `has no \`${key}\`; expected ${expected}.`
        : `has ${shown(value)} as \`${key}\`; expected ${expected}.`,
    );
  }
  return name;
}
