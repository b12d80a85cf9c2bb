/** Metrics that the user keeps at the top, remembered by the browser. */
import { useState } from 'preact/hooks';

const storageName = 'trinity-studio-pinned';

function stored(): readonly string[] {
  try {
    const value: unknown = JSON.parse(localStorage.getItem(storageName) ?? '[]');
    return Array.isArray(value) ? value.filter((each) => typeof each === 'string') : [];
  } catch {
    return [];
  }
}

export function usePinned() {
  const [pinned, setPinned] = useState(stored);
  /** Pins the metric, or removes its pin. */
  const pin = (key: string): void => {
    const next = pinned.includes(key) ? pinned.filter((each) => each !== key) : [...pinned, key];
    localStorage.setItem(storageName, JSON.stringify(next));
    setPinned(next);
  };
  return { pinned, pin };
}
