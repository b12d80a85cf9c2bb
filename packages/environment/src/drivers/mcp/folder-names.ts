/**
 * Name under which the policy sees the episode's folder, so that all rollouts of a group see equal
 * texts and no path of this machine.
 */
const shownName = '/workspace';

export interface FolderNames {
  shown(text: string): string;
  /** Replaces the shown name by the real folder in every text of the arguments. */
  real<T>(value: T): T;
}

export function folderNames(folder: string): FolderNames {
  const toReal = (value: unknown): unknown => {
    if (typeof value === 'string') return value.replace(/^\/workspace(?=\/|$)/, () => folder);
    if (Array.isArray(value)) return value.map(toReal);
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, toReal(inner)]));
  };
  return {
    shown: (text) => text.replaceAll(folder, shownName),
    real: <T>(value: T) => toReal(value) as T,
  };
}
