/** Tables of named values: duplicates throw, and an unknown name lists the known ones. */
import { ConfigError } from '@trinity-rft/core';
import { didYouMean } from '@trinity-rft/core/internal';

export interface Registry<T> {
  /** @throws ConfigError when the name is already registered */
  register(name: string, value: T): void;
  /** @throws ConfigError with the known names, and the most similar one */
  get(name: string): T;
  /** Undefined for an unknown name. */
  find(name: string): T | undefined;
  has(name: string): boolean;
  names(): readonly string[];
}

/** `kind` appears in error messages: "workflow", "reward function". */
export function createRegistry<T>(kind: string): Registry<T> {
  const entries = new Map<string, T>();
  return {
    register: (name, value) => {
      if (entries.has(name)) {
        throw new ConfigError(
          `A ${kind} named "${name}" is already registered. Choose another name.`,
          { code: 'DUPLICATE_NAME' },
        );
      }
      entries.set(name, value);
    },
    get: (name) => {
      const value = entries.get(name);
      if (value !== undefined) return value;
      const known = [...entries.keys()].toSorted();
      throw new ConfigError(
        `There is no ${kind} named "${name}".${didYouMean(name, known)} ` +
          `Known: ${known.join(', ') || 'none'}.`,
        { code: 'UNKNOWN_NAME' },
      );
    },
    find: (name) => entries.get(name),
    has: (name) => entries.has(name),
    names: () => [...entries.keys()],
  };
}
