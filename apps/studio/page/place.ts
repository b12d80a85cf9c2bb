/** Which page is shown, of which runs: the part of the address after `#`. */
import { useEffect, useState } from 'preact/hooks';

export const pageNames = ['runs', 'curves', 'rollouts'] as const;
type PageName = (typeof pageNames)[number];

export interface Place {
  readonly page: PageName;
  /** The first one is the run that pages of one run show. */
  readonly runs: readonly string[];
  readonly metric: string;
}

function readPlace(): Place {
  const given = new URLSearchParams(location.hash.slice(1));
  return {
    page: pageNames.find((name) => name === given.get('page')) ?? 'runs',
    runs: given.getAll('run'),
    metric: given.get('metric') ?? '',
  };
}

export function addressOf({ page, runs, metric }: Place): string {
  const query = new URLSearchParams({ page });
  for (const run of runs) query.append('run', run);
  if (metric !== '') query.set('metric', metric);
  return `#${query.toString()}`;
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
