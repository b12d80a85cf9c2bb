/** Runs that go on or can go on, and what the studio has started. */
import type { RunSummary } from '@trinity-rft/studio-api/interface';
import type { StartedRun } from '@trinity-rft/studio-control/interface';
import { useEffect, useState } from 'preact/hooks';
import { act, actionPath, ask } from '../../api.js';
import { addressOf } from '../../place.js';
import { texts } from '../../texts.js';

const { builder: words } = texts;

const everyMs = 1000;
const answerMs = 8000;
/** Finding the configuration of a run takes a check of each file. */
const resumeMs = 70_000;

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

/** What was started here, with the end of its output. */
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

/** Stop and resume. */
export function RunControls({ runs }: { readonly runs: readonly RunSummary[] }) {
  const [said, setSaid] = useState('');
  const [busy, setBusy] = useState('');
  const can = runs.filter(({ state }) => state !== 'finished' && state !== 'unknown');
  if (can.length === 0) return null;
  const tell = async (run: RunSummary): Promise<void> => {
    const [verb, ms] = run.state === 'running' ? (['stop', answerMs] as const) : resume;
    setBusy(run.id);
    setSaid('');
    try {
      const path = actionPath(run.id, verb);
      const { pid } = await act<{ pid: number }>(path, {}, AbortSignal.timeout(ms));
      setSaid(verb === 'stop' ? words.stopping(run.id, pid) : words.resumed(run.id, pid));
    } catch (error) {
      setSaid(error instanceof Error ? error.message : String(error));
    }
    setBusy('');
  };
  return (
    <section aria-label={words.runs}>
      <h2>{words.runs}</h2>
      <p role="status">{said}</p>
      <ul class="runs">
        {can.map((run) => (
          <li key={run.id}>
            <a href={addressOf('processes', [run.id])}>{run.id}</a>{' '}
            <span class={`state ${run.state}`}>{texts.runs.states[run.state]}</span>{' '}
            <button type="button" disabled={busy === run.id} onClick={() => void tell(run)}>
              {run.state === 'running' ? words.stop : words.resume}
              <span class="hidden"> {run.id}</span>
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

const resume = ['resume', resumeMs] as const;
