/** Command palette: searches pages, runs, metrics and actions. */
import type { MetricList, RunSummary } from '@trinity-rft/inspect/studio/interface';
import { useEffect, useId, useMemo, useState } from 'preact/hooks';
import { ask, runPath } from '../api.js';
import { Dialog } from '../design/dialog.js';
import { keyOf } from '../metrics.js';
import { mainPages, runPages } from '../pages.js';
import { addressOf } from '../place.js';
import { words } from '../words/frame.js';

const { palette } = words;

interface Entry {
  readonly kind: keyof typeof palette.kinds;
  readonly text: string;
  readonly href: string;
}

/** Maximum number of results. */
const most = 50;

interface PaletteProps {
  readonly runs: readonly RunSummary[];
  /** Run that the pages show. */
  readonly run: string | undefined;
  readonly onClose: () => void;
}

export function Palette({ runs, run, onClose }: PaletteProps) {
  const [search, setSearch] = useState('');
  const [at, setAt] = useState(0);
  const list = useId();
  const entries = useEntries(runs, run);
  const found = useMemo(() => entries.filter(matches(search)).slice(0, most), [entries, search]);
  const go = (entry: Entry | undefined): void => {
    if (!entry) return;
    onClose();
    location.hash = entry.href;
  };
  const pressed = (event: KeyboardEvent): void => {
    const move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === 'Enter') go(found[at]);
    else if (move !== undefined) setAt((at + move + found.length) % Math.max(1, found.length));
    else return;
    event.preventDefault();
  };
  return (
    <Dialog title={palette.title} kind="palette" onClose={onClose}>
      <input
        type="search"
        role="combobox"
        list={undefined}
        aria-label={palette.title}
        aria-expanded="true"
        aria-controls={list}
        aria-activedescendant={found[at] && `${list}-${at}`}
        placeholder={palette.title}
        value={search}
        autofocus
        onKeyDown={pressed}
        onInput={({ currentTarget }) => {
          setSearch(currentTarget.value);
          setAt(0);
        }}
      />
      <ul id={list} role="listbox" aria-label={palette.title}>
        {found.map((entry, i) => (
          <li
            key={`${entry.kind} ${entry.href}`}
            id={`${list}-${i}`}
            ref={i === at ? scrollTo : null}
            role="option"
            aria-selected={i === at}
            onClick={() => go(entry)}
          >
            <span>{entry.text}</span>
            <small>{palette.kinds[entry.kind]}</small>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="faint">{palette.none}</p>}
    </Dialog>
  );
}

const scrollTo = (element: Element | null): void => element?.scrollIntoView({ block: 'nearest' });

/** Returns a filter for entries that contain all words of the search, in any order. */
const matches = (search: string) => {
  const parts = search.toLowerCase().split(/\s+/);
  return ({ text, kind }: Entry): boolean => {
    const all = `${text} ${palette.kinds[kind]}`.toLowerCase();
    return parts.every((part) => all.includes(part));
  };
};

function useEntries(runs: readonly RunSummary[], run: string | undefined): readonly Entry[] {
  const [metrics, setMetrics] = useState<MetricList['metrics']>([]);
  useEffect(() => {
    if (run === undefined) return undefined;
    const gone = new AbortController();
    ask<MetricList>(runPath(run, 'metrics'), gone.signal).then(
      (answer) => setMetrics(answer.metrics),
      () => undefined,
    );
    return () => gone.abort();
  }, [run]);
  return useMemo(() => {
    const of = run === undefined ? [] : [run];
    const pages = [...(run === undefined ? [] : runPages), ...mainPages];
    return [
      ...pages.map(({ name }): Entry => ({
        kind: 'page',
        text: words.pages[name],
        href: addressOf(name, of),
      })),
      ...runs.map(({ id }): Entry => ({
        kind: 'run',
        text: id,
        href: addressOf('overview', [id]),
      })),
      ...metrics.map((metric): Entry => ({
        kind: 'metric',
        text: metric.name,
        href: addressOf('metrics', of, { metric: keyOf(metric) }),
      })),
    ];
  }, [runs, run, metrics]);
}
