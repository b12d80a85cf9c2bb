/**
 * Path that the policy sees instead of the path of the episode's folder. All rollouts of a group
 * therefore see the same path, and paths of the host stay hidden.
 */
const shownName = '/workspace';

export interface FolderNames {
  shown(text: string): string;
  /** Replaces `/workspace` at the start of every string in the arguments with the real folder. */
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
