/** A configuration as one flat table, for monitors and logs. */
import type { ResolvedConfig } from './resolve/base/resolved.js';
import { redact } from './source/secrets.js';

/** `stages.0.algorithm.repeatTimes` -> 8. Holds no secrets; what is undefined is left out. */
export function flattenConfig(
  config: ResolvedConfig,
): Readonly<Record<string, string | number | boolean | null>> {
  const flat: Record<string, string | number | boolean | null> = {};
  const walk = (value: unknown, key: string): void => {
    if (value === undefined) return;
    if (
      typeof value === 'string' ||
      typeof value === 'number' ||
      typeof value === 'boolean' ||
      value === null
    )
      flat[key] = value;
    else
      for (const [name, item] of Object.entries(value))
        walk(item, key === '' ? name : `${key}.${name}`);
  };
  walk(redact(config), '');
  return flat;
}
