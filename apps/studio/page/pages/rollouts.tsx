/** Page of a run's rollouts. The URL contains the filter and the open rollout. */
import { useCallback, useRef } from 'preact/hooks';
import { Dialog } from '../design/dialog.js';
import { Empty } from '../design/states.js';
import { RolloutView } from '../parts/rollout-view.js';
import { addressOf, type PageProps, type Place } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/rollouts.js';
import { useColumns } from './rollouts-columns.js';
import { RolloutFilter } from './rollouts-filter.js';
import { RolloutTable, type Step } from './rollouts-table.js';
import { RolloutViews } from './rollouts-views.js';
import './rollouts.css';

/** URL parameters that are not part of the filter. */
const beside = new Set(['rollout', 'view', 'kind']);
const evaluations = '/evaluations';

/**
 * Returns the run whose rollouts are shown, and the training run that it belongs to. The
 * evaluations of a training run are a separate run, and the user can switch between the two.
 */
function sourcesOf(id: string, kind: string | undefined) {
  const training = id.endsWith(evaluations) ? id.slice(0, -evaluations.length) : id;
  const isEvaluation = kind === 'evaluation' || training !== id;
  return { training, isEvaluation, shown: isEvaluation ? training + evaluations : training };
}

export function Rollouts({ place, runs }: PageProps) {
  const [id] = place.runs;
  const [columns, setColumns] = useColumns();
  const step = useRef<Step>(() => undefined);
  const go = useCallback(
    (query: Place['query']): void => {
      location.hash = addressOf('rollouts', place.runs, query);
    },
    [place.runs.join('\n')],
  );
  if (id === undefined) return <Empty title={words.choose} />;
  const { rollout = '', view = '', kind } = place.query;
  const { training, isEvaluation, shown } = sourcesOf(id, kind);
  const filter = Object.fromEntries(
    Object.entries(place.query).filter(([name]) => !beside.has(name)),
  );
  const key = JSON.stringify(filter);
  const chosen = rollout === '' ? undefined : Number(rollout);
  const onFilter = (next: Place['query']): void => go({ ...next, kind: kind ?? '' });
  return (
    <section class="rollouts" aria-label={frame.pages.rollouts}>
      <div class="toolbar">
        {runs?.some((run) => run.id === training + evaluations) && (
          <nav class="segments" aria-label={words.sources.title}>
            <a
              href={addressOf('rollouts', [training])}
              aria-current={isEvaluation ? undefined : 'true'}
            >
              {words.sources.training}
            </a>
            <a
              href={addressOf('rollouts', [training], { kind: 'evaluation' })}
              aria-current={isEvaluation ? 'true' : undefined}
            >
              {words.sources.evaluation}
            </a>
          </nav>
        )}
        <RolloutFilter run={shown} filter={filter} onFilter={onFilter} />
        <RolloutViews
          filter={filter}
          columns={columns}
          onColumns={setColumns}
          onView={(saved) => {
            if (saved.columns) setColumns(saved.columns);
            onFilter(saved.query);
          }}
        />
      </div>
      <RolloutTable
        key={`${shown} ${key}`}
        run={shown}
        recorded={runs?.find((run) => run.id === shown)?.modelCalls}
        columns={columns}
        filter={filter}
        chosen={chosen}
        step={step}
        onChoose={(row) => go({ ...place.query, rollout: String(row) })}
        onFilter={(changed) => go({ ...place.query, ...changed })}
      />
      {chosen !== undefined && (
        <Dialog
          title={words.rollout}
          kind="side"
          onClose={() => go({ ...place.query, rollout: '', view: '' })}
        >
          <RolloutView
            run={shown}
            row={chosen}
            view={view}
            onStep={(by) => step.current(by)}
            onView={(next) => go({ ...place.query, view: next })}
            onOpen={(row) => go({ ...place.query, rollout: String(row), view: 'conversation' })}
          />
        </Dialog>
      )}
    </section>
  );
}
