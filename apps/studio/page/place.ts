/** Page and runs that are shown: the part of the URL after `#`. */
import type { RunSummary } from '@trinity-rft/inspect/studio/interface';
import { useEffect, useState } from 'preact/hooks';

export interface Place {
  readonly page: string;
  /** Ids of the shown runs; pages of a single run use the first id. */
  readonly runs: readonly string[];
  readonly query: Readonly<Record<string, string>>;
}

/** Props of every page. */
export interface PageProps {
  readonly place: Place;
  /** All runs; undefined until they are loaded. */
  readonly runs: readonly RunSummary[] | undefined;
  /** Number of runs that the server found but does not list. */
  readonly left: number;
  /** The run that the first id in the URL names; undefined if there is none. */
  readonly run: RunSummary | undefined;
}

const ours = new Set(['page', 'run']);

function readPlace(): Place {
  const given = new URLSearchParams(location.hash.slice(1));
  return {
    page: given.get('page') ?? '',
    runs: given.getAll('run'),
    query: Object.fromEntries([...given].filter(([name]) => !ours.has(name))),
  };
}

export function addressOf(
  page: string,
  runs: readonly string[],
  query: Place['query'] = {},
): string {
  const parts = new URLSearchParams({ page });
  for (const run of runs) parts.append('run', run);
  for (const [name, value] of Object.entries(query)) if (value !== '') parts.set(name, value);
  return `#${parts.toString()}`;
}

export function usePlace(): Place {
  const [place, setPlace] = useState(readPlace);
  useEffect(() => {
    const follow = (): void => setPlace(readPlace());
    addEventListener('hashchange', follow);
    return () => removeEventListener('hashchange', follow);
  }, []);
  return place;
}
