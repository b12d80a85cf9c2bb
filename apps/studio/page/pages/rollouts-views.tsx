/**
 * Saved views, which consist of filters, an order and columns, and are stored in this browser; and
 * the choice of columns.
 */
import { Bookmark, Columns3, X } from 'lucide';
import { Icon } from '../design/icon.js';
import { toast } from '../design/toast.js';
import { Menu } from '../parts/menu.js';
import { useStored } from '../parts/stored.js';
import type { Place } from '../place.js';
import { words } from '../words/rollouts.js';
import { isColumns, type ColumnName } from './rollouts-columns.js';

export interface SavedView {
  readonly name: string;
  readonly query: Place['query'];
  /** Columns to show. @default the current columns */
  readonly columns?: readonly ColumnName[];
}

const isView = (value: Partial<SavedView> | null): boolean =>
  typeof value?.name === 'string' &&
  typeof value.query === 'object' &&
  (value.columns === undefined || isColumns(value.columns));
const isViews = (value: unknown): value is readonly SavedView[] =>
  Array.isArray(value) && value.every(isView);

/** Built-in views. */
const ready: readonly SavedView[] = [
  { name: words.views.newest, query: {} },
  { name: words.views.worst, query: { sort: 'reward', descending: 'false' } },
  { name: words.views.truncated, query: { problem: 'truncated' } },
  { name: words.views.stale, query: { sort: 'staleness', descending: 'true' } },
  { name: words.views.slowest, query: { sort: 'seconds', descending: 'true' } },
];

interface RolloutViewsProps {
  readonly filter: Place['query'];
  readonly columns: readonly ColumnName[];
  readonly onColumns: (columns: readonly ColumnName[]) => void;
  readonly onView: (view: SavedView) => void;
}

export function RolloutViews({ filter, columns, onColumns, onView }: RolloutViewsProps) {
  const [saved, setSaved] = useStored<readonly SavedView[]>(
    'trinity-studio-rollout-views',
    [],
    isViews,
  );
  const save = (event: SubmitEvent): void => {
    event.preventDefault();
    const given = new FormData(event.currentTarget as HTMLFormElement).get('name');
    const name = typeof given === 'string' ? given.trim() : '';
    if (name === '') return;
    setSaved([...saved.filter((view) => view.name !== name), { name, query: filter, columns }]);
    toast(words.views.kept(name));
  };
  return (
    <>
      <Menu icon={Bookmark} label={words.views.title}>
        {(close) => (
          <>
            <ul class="views">
              {[...ready, ...saved].map((view) => (
                <li key={view.name}>
                  <button
                    type="button"
                    class="quiet"
                    onClick={() => {
                      close();
                      onView(view);
                    }}
                  >
                    {view.name}
                  </button>
                  {saved.includes(view) && (
                    <button
                      type="button"
                      class="quiet icon-only"
                      aria-label={words.views.remove(view.name)}
                      onClick={() => setSaved(saved.filter((each) => each !== view))}
                    >
                      <Icon of={X} />
                    </button>
                  )}
                </li>
              ))}
            </ul>
            <form class="controls" autocomplete="off" onSubmit={save}>
              <input
                name="name"
                aria-label={words.views.name}
                placeholder={words.views.name}
                required
              />
              <button type="submit">{words.views.save}</button>
            </form>
          </>
        )}
      </Menu>
      <Menu icon={Columns3} label={words.columnsTitle}>
        {() => (
          <div class="choices">
            {(Object.keys(words.columns) as ColumnName[]).map((name) => (
              <label key={name}>
                <input
                  type="checkbox"
                  checked={columns.includes(name)}
                  disabled={columns.length === 1 && columns.includes(name)}
                  onChange={({ currentTarget }) =>
                    onColumns(
                      currentTarget.checked
                        ? [...columns, name]
                        : columns.filter((each) => each !== name),
                    )
                  }
                />
                {words.columns[name]}
              </label>
            ))}
          </div>
        )}
      </Menu>
    </>
  );
}
