/** What several parts need together. */
import { noNeeds, type AlgorithmNeeds } from '@trinity-rft/core';

const entropyLevels = ['none', 'value', 'gradient'] as const;

/** What any part needs is needed; of entropies the most that one asks for. */
export function mergeNeeds(parts: readonly Partial<AlgorithmNeeds>[]): AlgorithmNeeds {
  const some = (name: Exclude<keyof AlgorithmNeeds, 'entropy'>): boolean =>
    parts.some((needs) => needs[name] === true);
  const level = Math.max(0, ...parts.map(({ entropy = 'none' }) => entropyLevels.indexOf(entropy)));
  const names = Object.keys(noNeeds).filter((name) => name !== 'entropy') as Exclude<
    keyof AlgorithmNeeds,
    'entropy'
  >[];
  return {
    ...noNeeds,
    ...Object.fromEntries(names.map((name) => [name, some(name)])),
    entropy: entropyLevels[level]!,
  };
}
