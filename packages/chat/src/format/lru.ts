/** A map that forgets what was not used for longest. */

export interface Lru<V> {
  /** The value under `key`, made when it is not there. */
  get(key: string, make: () => V): V;
}

/** Keys longer than `maxKeyLength` characters are not kept: a few of them would fill the memory. */
export function createLru<V>(capacity: number, maxKeyLength = 20_000): Lru<V> {
  const entries = new Map<string, V>();
  return {
    get: (key, make) => {
      let value = entries.get(key);
      if (value !== undefined) {
        entries.delete(key);
        entries.set(key, value);
        return value;
      }
      value = make();
      if (key.length > maxKeyLength) return value;
      entries.set(key, value);
      if (entries.size > capacity) entries.delete(entries.keys().next().value!);
      return value;
    },
  };
}
