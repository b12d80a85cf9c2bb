/** Checks the definitions of workflows, rewards, losses and other parts that plugins make. */
import { ConfigError } from './errors.js';
import { shown } from './returned.js';

const namePattern = /^[\w.:/@-]+$/;

type Keys<Options> = readonly (keyof Options & string)[];

/**
 * Checks a definition at run time, because a plugin may be JavaScript or written for another
 * version. Returns the name.
 * @param what noun at the beginning of error messages, such as "Workflow"
 * @throws ConfigError for a name with characters other than ASCII letters, digits and `_.:/@-`, for
 * a missing function or class, and for a schema that is none
 */
export function checkDefinition<Options extends { readonly name: string }>(
  what: string,
  options: Options,
  required: {
    readonly functions?: Keys<Options>;
    readonly classes?: Keys<Options>;
    /** Schemas, which may be left out. */
    readonly schemas?: Keys<Options>;
  } = {},
): string {
  const { name } = options;
  if (typeof name !== 'string' || !namePattern.test(name))
    throw new ConfigError(
      `${what} name ${JSON.stringify(name)} is invalid. Use letters, digits and any of _ . : / @ -`,
      { code: 'NAME_INVALID' },
    );
  const check = (
    keys: Keys<Options> = [],
    isRight: (value: unknown) => boolean,
    expected: string,
  ): void => {
    const wrong = keys.find((key) => !isRight(options[key]));
    if (wrong === undefined) return;
    const value = options[wrong];
    const has = value === undefined ? `no \`${wrong}\`` : `${shown(value)} as \`${wrong}\``;
    throw new ConfigError(`${what} "${name}" has ${has}; expected ${expected}.`, {
      code: 'DEFINITION_INVALID',
    });
  };
  check(required.functions, isFunction, 'a function');
  check(required.classes, (value) => isFunction(value) && 'prototype' in value, 'a class');
  check(required.schemas, isSchema, 'a schema of zod or another Standard Schema library');
  return name;
}

const isFunction = (value: unknown): value is object => typeof value === 'function';

const isSchema = (value: unknown): boolean =>
  value === undefined ||
  value === null ||
  isFunction((value as { '~standard'?: { validate?: unknown } })['~standard']?.validate);
