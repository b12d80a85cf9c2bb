/** Tables of named things: a duplicate throws, an unknown name lists what there is. */
import { ConfigError } from '@trinity-rft/core';

export interface Registry<T> {
  /** @throws ConfigError when the name is taken */
  register(name: string, value: T): void;
  /** @throws ConfigError naming the nearest known name */
  get(name: string): T;
  has(name: string): boolean;
  names(): readonly string[];
}

/** `kind` is the word used in messages: "workflow", "reward function". */
export function createRegistry<T>(kind: string): Registry<T> {
  const entries = new Map<string, T>();
  return {
    register: (name, value) => {
      if (entries.has(name)) {
        throw new ConfigError(`A ${kind} named "${name}" is registered already. Give the second one another name.`, { code: 'DUPLICATE_NAME' });
      }
      entries.set(name, value);
    },
    get: (name) => {
      const value = entries.get(name);
      if (value !== undefined) return value;
      const known = [...entries.keys()].toSorted();
      const near = nearest(name, known);
      throw new ConfigError(`There is no ${kind} named "${name}".${near ? ` Did you mean "${near}"?` : ''} Known: ${known.join(', ') || 'none'}.`, {
        code: 'UNKNOWN_NAME',
      });
    },
    has: (name) => entries.has(name),
    names: () => [...entries.keys()],
  };
}

/** The known name at the smallest edit distance, when that is at most a third of the name's length. */
function nearest(name: string, known: readonly string[]): string | undefined {
  const scored = known.map((candidate) => ({ candidate, distance: editDistance(name, candidate) })).toSorted((a, b) => a.distance - b.distance);
  const best = scored[0];
  return best && best.distance <= Math.max(2, Math.floor(name.length / 3)) ? best.candidate : undefined;
}

function editDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      next.push(Math.min(next[j - 1]! + 1, row[j]! + 1, row[j - 1]! + (a[i - 1] === b[j - 1] ? 0 : 1)));
    }
    row = next;
  }
  return row[b.length]!;
}
