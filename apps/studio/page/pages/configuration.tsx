/** Page of the settings that a run was started with. */
import type { RunSettings } from '@trinity-rft/inspect/studio/interface';
import { Settings2 } from 'lucide';
import { useState } from 'preact/hooks';
import { Search } from '../design/search.js';
import { Empty, Problem, Skeleton } from '../design/states.js';
import { useRunAnswer } from '../parts/use-answers.js';
import type { PageProps } from '../place.js';
import { words } from '../words/configuration.js';
import { words as frame } from '../words/frame.js';

export function Configuration({ place }: PageProps) {
  const [id] = place.runs;
  const { answer: settings, problem } = useRunAnswer<RunSettings>(id, undefined, 'settings');
  const [search, setSearch] = useState('');
  if (problem !== undefined) return <Problem text={problem} />;
  if (!settings) return <Skeleton lines={8} />;
  const all = Object.entries(settings);
  if (all.length === 0) return <Empty icon={Settings2} title={words.none} text={words.noneText} />;
  const found = all.filter(([key, value]) =>
    `${key} ${textOf(value)}`.toLowerCase().includes(search.toLowerCase()),
  );
  return (
    <section aria-label={frame.pages.configuration}>
      <div class="controls">
        <Search label={words.search} value={search} onInput={setSearch} />
      </div>
      <div class="cards">
        {[...Map.groupBy(found, ([key]) => key.split('.', 1)[0] ?? '')].map(([group, rows]) => (
          <section key={group} class="card">
            <h2>{group}</h2>
            <dl class="facts">
              {rows.map(([key, value]) => (
                <div key={key}>
                  <dt>{key.slice(group.length + 1) || key}</dt>
                  <dd>{textOf(value)}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
    </section>
  );
}

const textOf = (value: unknown): string =>
  typeof value === 'string' ? value : JSON.stringify(value);
