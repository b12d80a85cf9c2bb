import type { RunSummary } from '@trinity-rft/inspect/studio/interface';
import { useEffect, useState } from 'preact/hooks';
import { ask, runPath } from '../api.js';

/** Milliseconds between reloads. Reloads are rare, because each one reads the newest rollouts. */
const againMs = 30_000;

/**
 * Loads a response of the server about a run, and reloads it while the run continues.
 * @param path path below the run's path, such as `story`
 */
export function useRunAnswer<T>(
  id: string | undefined,
  run: RunSummary | undefined,
  path: string,
): { readonly answer: T | undefined; readonly problem: string | undefined } {
  const [answer, setAnswer] = useState<T>();
  const [problem, setProblem] = useState<string>();
  const state = run?.state;
  useEffect(() => {
    if (id === undefined) return undefined;
    const gone = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    const look = async (): Promise<void> => {
      try {
        if (!document.hidden) setAnswer(await ask(runPath(id, path), gone.signal));
        setProblem(undefined);
      } catch (error) {
        if (!gone.signal.aborted) setProblem(String(error));
      }
      if (state === 'running' && !gone.signal.aborted)
        timer = setTimeout(() => void look(), againMs);
    };
    void look();
    return () => {
      gone.abort();
      clearTimeout(timer);
    };
  }, [id, path, state]);
  return { answer, problem };
}
