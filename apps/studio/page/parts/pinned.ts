/** Metrics that the user pinned to the top, stored in the browser. */
import { useStored } from './stored.js';

const none: readonly string[] = [];
const areNames = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

export function usePinned() {
  const [pinned, setPinned] = useStored('trinity-studio-pinned', none, areNames);
  /** Pins the metric, or unpins it. */
  const pin = (key: string): void =>
    setPinned(pinned.includes(key) ? pinned.filter((each) => each !== key) : [...pinned, key]);
  return { pinned, pin };
}
