/** The runs that can be stopped or resumed, and processes that the studio has started. */
import type { RunSummary } from '@trinity-rft/inspect/studio/interface';
import type { StartedRun } from '../../../src/control/interface/index.js';
import { canBeControlled, RunControl } from '../../parts/run-control.js';
import { answerMs, useAnswers } from '../../parts/use-answers.js';
import { addressOf } from '../../place.js';
import { words } from '../../words/builder.js';
import { words as runsWords } from '../../words/runs.js';

const everyMs = 1000;

export const useStarted = (): readonly StartedRun[] =>
  useAnswers<readonly StartedRun[]>(['builder/started'], () => everyMs, answerMs).answers[0] ?? [];

/** Processes that the studio has started, with the end of their output. */
export function Started({ started }: { readonly started: readonly StartedRun[] }) {
  if (started.length === 0) return null;
  return (
    <section aria-label={words.started}>
      <h2>{words.started}</h2>
      {started.map(({ id, file, pid, exitCode, output }, i) => (
        <details key={id} open={i === 0}>
          <summary>
            {words.startedAs(file, pid)} <strong>{words.exit(exitCode)}</strong>
          </summary>
          <pre class="output" tabIndex={0}>
            {output}
          </pre>
        </details>
      ))}
    </section>
  );
}

/** Stop and resume buttons of the runs. */
export function RunControls({ runs }: { readonly runs: readonly RunSummary[] }) {
  const can = runs.filter(canBeControlled);
  if (can.length === 0) return null;
  return (
    <section aria-label={words.runs}>
      <h2>{words.runs}</h2>
      <ul class="runs">
        {can.map((run) => (
          <li key={run.id} class="card">
            <a href={addressOf('workers', [run.id])}>{run.id}</a>{' '}
            <span class={`state ${run.state}`}>{runsWords.states[run.state]}</span>{' '}
            <RunControl run={run} />
          </li>
        ))}
      </ul>
    </section>
  );
}
