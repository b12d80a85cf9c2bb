/** Name, state and tabs of the run that is shown. */
import type { RunSummary } from '@trinity-rft/inspect/studio/interface';
import { Icon } from '../design/icon.js';
import { runPages, type Page } from '../pages.js';
import { RunControl } from '../parts/run-control.js';
import { addressOf } from '../place.js';
import { words } from '../words/frame.js';
import { words as runsWords } from '../words/runs.js';

interface RunHeaderProps {
  /** Id of the run in the URL. The run may not exist. */
  readonly id: string;
  readonly run: RunSummary | undefined;
  readonly runs: readonly RunSummary[];
  readonly shown: Page['name'];
}

export const RunHeader = ({ id, run, runs, shown }: RunHeaderProps) => (
  <div class="run-head">
    <div class="run-title">
      <a href={addressOf('runs', [])}>{words.pages.runs}</a>
      <span aria-hidden="true">/</span>
      <RunChoice id={id} runs={runs} page={shown} />
      {run && <span class={`state ${run.state}`}>{runsWords.states[run.state]}</span>}
      {run?.steps && (
        <span class="faint">{runsWords.progress(run.steps.done, run.steps.total)}</span>
      )}
      {run && <RunControl run={run} />}
    </div>
    <nav class="tabs" aria-label={words.pagesOf(id)}>
      {runPages.map(({ name, icon }) => (
        <a
          key={name}
          href={addressOf(name, [id])}
          aria-current={name === shown ? 'page' : undefined}
        >
          <Icon of={icon} />
          <span>{words.pages[name]}</span>
        </a>
      ))}
    </nav>
  </div>
);

interface RunChoiceProps {
  readonly id: string;
  readonly runs: readonly RunSummary[];
  readonly page: string;
}

/** Selects another run for the same page. */
const RunChoice = ({ id, runs, page }: RunChoiceProps) => (
  <select
    class="run-choice"
    aria-label={words.run}
    value={id}
    onChange={({ currentTarget }) => (location.hash = addressOf(page, [currentTarget.value]))}
  >
    {[...new Set([id, ...runs.map((run) => run.id)])].toSorted().map((each) => (
      <option key={each} value={each}>
        {each}
      </option>
    ))}
  </select>
);
