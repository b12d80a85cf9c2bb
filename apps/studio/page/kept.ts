/** State that survives leaving a page, such as drafts. */
import { useState, type Dispatch, type StateUpdater } from 'preact/hooks';

const kept = new Map<string, unknown>();

/**
 * Like `useState`, but the value is kept until the browser leaves the studio.
 * @param name key of the value, unique in the studio
 */
export function useKept<T>(name: string, initial: T): [T, Dispatch<StateUpdater<T>>] {
  const [value, setValue] = useState<T>(() => (kept.has(name) ? (kept.get(name) as T) : initial));
  kept.set(name, value);
  return [value, setValue];
}
