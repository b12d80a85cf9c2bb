/** The runs that can be stopped or resumed, and processes that the studio has started. */
import type { RunSummary } from '@trinity-rft/inspect/studio/interface';
import type { StartedRun } from '../../../src/control/interface/index.js';
import { useEffect, useState } from 'preact/hooks';
import { ask } from '../../api.js';
import { canBeControlled, RunControl } from '../../parts/run-control.js';
import { addressOf } from '../../place.js';
import { words } from '../../words/builder.js';
import { words as runsWords } from '../../words/runs.js';

const everyMs = 1000;
const answerMs = 8000;

export function useStarted(): readonly StartedRun[] {
  const [started, setStarted] = useState<readonly StartedRun[]>([]);
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      const signal = AbortSignal.timeout(answerMs);
      const found = await ask<StartedRun[]>('builder/started', signal).catch(() => undefined);
      if (isOver) return;
      if (found) setStarted(found);
      timer = setTimeout(() => void look(), everyMs);
    };
    void look();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, []);
  return started;
}

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
