/** Checks the names that a configuration can refer to. */
import { ConfigError } from './errors.js';

const namePattern = /^[\w.:/@-]+$/;

/**
 * Returns `name` if it is valid.
 * @param what beginning of the error message, such as "Workflow"
 * @throws ConfigError for a name with characters other than ASCII letters, digits and `_.:/@-`
 */
export function checkName(what: string, name: string): string {
  if (namePattern.test(name)) return name;
  throw new ConfigError(
    `${what} name ${JSON.stringify(name)} is invalid. Use letters, digits and any of _ . : / @ -`,
    { code: 'NAME_INVALID' },
  );
}
