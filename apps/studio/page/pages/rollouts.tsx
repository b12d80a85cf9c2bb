/** Recorded rollouts of one run: which are shown, and which is open, is part of the address. */
import { useCallback } from 'preact/hooks';
import { EvaluationsLink } from '../parts/evaluations-link.js';
import { RolloutView } from '../parts/rollout-view.js';
import { addressOf, type PageProps, type Place } from '../place.js';
import { words as frame } from '../words/frame.js';
import { words } from '../words/rollouts.js';
import { RolloutFilter } from './rollouts-filter.js';
import { RolloutTable } from './rollouts-table.js';
import './rollouts.css';

/** Parameters of the address beside the filter. */
const open = new Set(['rollout', 'view']);

export function Rollouts(props: PageProps) {
  const { run, place } = props;
  const [id] = place.runs;
  const go = useCallback(
    (query: Place['query']): void => {
      location.hash = addressOf('rollouts', place.runs, query);
    },
    [place.runs.join('\n')],
  );
  if (id === undefined) return <p>{words.choose}</p>;
  const { rollout = '', view = '' } = place.query;
  const filter = Object.fromEntries(
    Object.entries(place.query).filter(([name]) => !open.has(name)),
  );
  const key = JSON.stringify(filter);
  const chosen = rollout === '' ? undefined : Number(rollout);
  return (
    <div class="columns wide rollouts">
      <section aria-label={frame.pages.rollouts}>
        <p class="about">{words.about}</p>
        <EvaluationsLink {...props} />
        <RolloutFilter
          key={key}
          filter={filter}
          onFilter={(next) => go({ ...next, rollout, view })}
        />
        <RolloutTable
          key={`${id} ${key}`}
          run={id}
          recorded={run?.rollouts}
          filter={filter}
          chosen={chosen}
          onChoose={(row) => go({ ...place.query, rollout: String(row) })}
          onFilter={(changed) => go({ ...place.query, ...changed })}
        />
      </section>
      <section aria-label={words.rollout}>
        {chosen === undefined ? (
          <p>{words.pick}</p>
        ) : (
          <RolloutView
            run={id}
            row={chosen}
            view={view}
            onView={(next) => go({ ...place.query, view: next })}
            onOpen={(row) => go({ ...place.query, rollout: String(row), view: 'conversation' })}
          />
        )}
      </section>
    </div>
  );
}
