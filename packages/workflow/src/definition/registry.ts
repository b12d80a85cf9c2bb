/**
 * Registries: tables of values by name. Registering a name twice throws. The error for an unknown
 * name lists the known names.
 */
import { ConfigError } from '@trinity-rft/core';
import { didYouMean } from '@trinity-rft/core/support';
import { readAs, refusalOf, type OtherNames } from './other-names.js';

export interface Registry<T> {
  /** Adds a value. @throws ConfigError when the name is already registered */
  register(name: string, value: T): void;
  /**
   * Returns a value by its name or an alias. @throws ConfigError if the name is unknown or refused
   */
  get(name: string): T;
  /** Returns a value by its name or an alias, or undefined for an unknown name. */
  find(name: string): T | undefined;
  has(name: string): boolean;
  names(): readonly string[];
  /**
   * Returns the registered name that `name` is an alias of, or undefined if `name` is not an alias.
   */
  readAs(name: string): string | undefined;
  /**
   * Returns the reason why a name is refused, with a hint what to use instead. Returns undefined
   * for names that are not refused.
   */
  refusal(name: string): string | undefined;
}

const none: OtherNames = { aliases: {}, refused: {} };

/**
 * Creates an empty registry.
 * @param kind kind of values, for error messages: "workflow", "reward function"
 * @param others aliases and refused names
 */
export function createRegistry<T>(kind: string, others: OtherNames = none): Registry<T> {
  const entries = new Map<string, T>();
  const otherName = (name: string): string | undefined =>
    entries.has(name) ? undefined : readAs(name, [...entries.keys()], others);
  const find = (name: string): T | undefined => entries.get(otherName(name) ?? name);
  return {
    register: (name, value) => {
      if (entries.has(name)) {
        throw new ConfigError(
          `A ${kind} named "${name}" is already registered. Choose another name.`,
          { code: 'DUPLICATE_NAME', details: { name } },
        );
      }
      entries.set(name, value);
    },
    get: (name) => {
      const value = find(name);
      if (value !== undefined) return value;
      const refusal = refusalOf(name, others);
      if (refusal !== undefined)
        throw new ConfigError(`The ${kind} "${name}" is not supported. ${refusal}`, {
          code: 'UNSUPPORTED_NAME',
        });
      const known = [...entries.keys()].toSorted();
      throw new ConfigError(
        `There is no ${kind} named "${name}".${didYouMean(name, known)} ` +
          `Known: ${known.join(', ') || 'none'}.`,
        { code: 'UNKNOWN_NAME' },
      );
    },
    find,
    has: (name) => find(name) !== undefined,
    names: () => [...entries.keys()],
    readAs: otherName,
    refusal: (name) => (find(name) === undefined ? refusalOf(name, others) : undefined),
  };
}
