/** Checks the definitions of workflows, rewards, losses and other parts that plugins make. */
import { ConfigError } from './errors.js';
import { shown } from './returned.js';
import { didYouMean } from './suggest.js';

const namePattern = /^[\w.:/@-]+$/;

const isFunction = (value: unknown): boolean => typeof value === 'function';

const forms = {
  any: () => true,
  function: isFunction,
  class: (value) => isFunction(value) && Object.hasOwn(value as object, 'prototype'),
  schema: (value) =>
    (value ?? undefined) === undefined ||
    isFunction((value as { '~standard'?: { validate?: unknown } })['~standard']?.validate),
} satisfies Record<string, (value: unknown) => boolean>;

/**
 * Checks a definition at run time, because a plugin may be JavaScript or written for another
 * version. Returns the name.
 * @param what noun at the beginning of error messages, such as "Workflow"
 * @param formOf the options other than `name`, with their forms; a schema may be left out
 * @throws ConfigError for a name with characters other than ASCII letters, digits and `_.:/@-`, for
 * an option of another form, and for an option that `formOf` does not name
 */
export function checkDefinition<Options extends { readonly name: string }>(
  what: string,
  options: Options,
  formOf: Readonly<Record<Exclude<keyof Options, 'name'>, keyof typeof forms>>,
): string {
  const given = options as Readonly<Record<string, unknown>>;
  const { name } = given;
  if (typeof name !== 'string' || !namePattern.test(name))
    throw new ConfigError(
      `${what} name ${JSON.stringify(name)} is invalid. Use letters, digits and any of _ . : / @ -`,
      { code: 'NAME_INVALID' },
    );
  const known = ['name', ...Object.keys(formOf)];
  const unknown = Object.keys(given).find(
    (key) => given[key] !== undefined && !known.includes(key),
  );
  if (unknown === 'kind')
    throw new ConfigError(
      `${what} "${name}" is a definition already; expected the options of one.`,
      { code: 'DEFINITION_INVALID' },
    );
  if (unknown !== undefined)
    throw new ConfigError(
      `${what} "${name}" has no option "${unknown}".${didYouMean(unknown, known)} Known: ${known.join(', ')}.`,
      { code: 'DEFINITION_INVALID' },
    );
  for (const [key, form] of Object.entries<keyof typeof forms>(formOf)) {
    if (forms[form](given[key])) continue;
    const has = given[key] === undefined ? `no \`${key}\`` : `${shown(given[key])} as \`${key}\``;
    const hint = form === 'schema' ? ' of zod or another Standard Schema library' : '';
    throw new ConfigError(`${what} "${name}" has ${has}; expected a ${form}${hint}.`, {
      code: 'DEFINITION_INVALID',
    });
  }
  return name;
}
