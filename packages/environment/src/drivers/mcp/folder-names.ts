/**
 * The folder of an episode under one name: runs of a group see equal texts, and nothing of this
 * machine.
 */
const shownName = '/workspace';

export interface FolderNames {
  shown(text: string): string;
  /** In every text of the arguments. */
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
