import { useState } from 'preact/hooks';

/**
 * Like `useState`, but the value is kept in the browser's local storage.
 * @param isValid checks the stored value, which may be anything
 */
export function useStored<T>(
  name: string,
  initial: T,
  isValid: (value: unknown) => value is T,
): [T, (value: T) => void] {
  const [value, setValue] = useState<T>(() => read(name, isValid) ?? initial);
  const set = (next: T): void => {
    localStorage.setItem(name, JSON.stringify(next));
    setValue(next);
  };
  return [value, set];
}

function read<T>(name: string, isValid: (value: unknown) => value is T): T | undefined {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(name) ?? 'null');
    return isValid(value) ? value : undefined;
  } catch {
    return undefined;
  }
}
