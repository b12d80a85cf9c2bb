/** Stop or resume button of a run, with confirmation and result. */
import type { RunSummary } from '@trinity-rft/inspect/studio/interface';
import type { StartedRun } from '../../src/control/interface/index.js';
import { useEffect, useRef, useState } from 'preact/hooks';
import { act, actionPath, ask, hasLastEvent, messageOf } from '../api.js';
import { words } from '../words/control.js';
import { Sure } from './sure.js';

const verbs: Readonly<Partial<Record<RunSummary['state'], 'stop' | 'resume'>>> = {
  running: 'stop',
  stopped: 'resume',
  failed: 'resume',
};

/**
 * After the last event, no action is possible.
 *
 * Evaluations cannot be resumed: `trinity eval` makes them anew. A run of their name has a total of
 * steps, or a reason why there is none.
 */
function verbOf({ id, state, steps, noTotal }: RunSummary): 'stop' | 'resume' | undefined {
  if (hasLastEvent()) return undefined;
  const hasSteps = steps !== undefined || noTotal !== undefined;
  const areEvaluations = /(^|\/)evaluations$/.test(id) && !hasSteps;
  return areEvaluations ? undefined : verbs[state];
}

export const canBeControlled = (run: RunSummary): boolean => verbOf(run) !== undefined;

/** Timeouts in ms. Resuming takes longer, because the server checks the configuration first. */
const deadlines = { stop: 8000, resume: 70_000 } as const;
/**
 * Milliseconds for which a resumed run is watched. A run with a broken configuration fails within
 * this time.
 */
const watchMs = 20_000;
const everyMs = 1000;

export function RunControl({ run }: { readonly run: RunSummary }) {
  const { id } = run;
  const [asked, setAsked] = useState<'stop' | 'resume'>();
  const [isBusy, setBusy] = useState(false);
  const [said, setSaid] = useState('');
  const work = useRef<AbortController>(undefined);
  useEffect(() => () => work.current?.abort(), []);
  const verb = verbOf(run);
  const tell = async (chosen: 'stop' | 'resume'): Promise<void> => {
    // Stops watching an earlier start.
    work.current?.abort();
    work.current = new AbortController();
    const { signal } = work.current;
    const say = (text: string): void => (signal.aborted ? undefined : setSaid(text));
    setAsked(undefined);
    setBusy(true);
    say(words[chosen].busy);
    try {
      const inTime = AbortSignal.any([signal, AbortSignal.timeout(deadlines[chosen])]);
      const answer = await act<StartedRun>(actionPath(id, chosen), {}, inTime);
      setBusy(false);
      say(words[chosen].done(answer.pid));
      const failure = chosen === 'resume' ? await failureOf(answer, signal) : undefined;
      if (failure !== undefined) say(failure);
    } catch (error) {
      say(messageOf(error));
    }
    setBusy(false);
  };
  return (
    <div class="run-control">
      {asked === undefined && verb !== undefined && (
        <button type="button" disabled={isBusy} onClick={() => setAsked(verb)}>
          {words[verb].label}
          <span class="hidden"> {id}</span>
        </button>
      )}
      {asked !== undefined && (
        <Sure
          label={`${words[asked].label} ${id}`}
          question={words[asked].sure}
          yes={words[asked].yes}
          onYes={() => void tell(asked)}
          onNo={() => setAsked(undefined)}
        />
      )}
      <p role="status">{said}</p>
    </div>
  );
}

/**
 * Reason why a started run ended within {@link watchMs}; undefined if it continues or ended without
 * an error.
 */
async function failureOf({ id }: StartedRun, signal: AbortSignal): Promise<string | undefined> {
  const deadline = Date.now() + watchMs;
  while (Date.now() < deadline && !signal.aborted) {
    const all = await ask<readonly StartedRun[]>('builder/started', signal);
    const { exitCode, output = '' } = all.find((each) => each.id === id) ?? {};
    if (exitCode !== undefined)
      return exitCode === 0 ? undefined : words.ended(exitCode, output.trim());
    await new Promise((resolve) => setTimeout(resolve, everyMs));
  }
  return undefined;
}
