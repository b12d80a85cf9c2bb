/** Loads responses of the server for a page. */
import type { RunSummary } from '@trinity-rft/inspect/studio/interface';
import { useEffect, useState } from 'preact/hooks';
import { ask, messageOf, runPath } from '../api.js';

/** Timeout of requests to which the server responds at once, in milliseconds. */
export const answerMs = 8000;

export interface Answers<T> {
  /** Responses for all paths; until they have arrived, the responses for the previous paths. */
  readonly answers: readonly T[];
  readonly problem: string | undefined;
}

/**
 * Loads the responses for some paths. Waits while the page is in a hidden tab.
 * @param againMs returns the milliseconds until the next reload, or undefined for no reload. Called
 * with an empty list after an error. @default no reload
 * @param mostMs timeout of a request, in milliseconds. @default no timeout
 */
export function useAnswers<T>(
  paths: readonly string[],
  againMs: (answers: readonly T[]) => number | undefined = () => undefined,
  mostMs?: number,
): Answers<T> {
  const [answers, setAnswers] = useState<readonly T[]>([]);
  const [problem, setProblem] = useState<string>();
  // A run that ends is loaded once more, and then no longer.
  const key = JSON.stringify([paths, againMs([])]);
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isWaiting = false;
    const load = async (): Promise<void> => {
      isWaiting = document.hidden;
      if (isWaiting) return;
      let found: readonly T[] = [];
      let failure: string | undefined;
      try {
        const late = mostMs === undefined ? [] : [AbortSignal.timeout(mostMs)];
        const until = AbortSignal.any([signal, ...late]);
        found = await Promise.all(paths.map((path) => ask<T>(path, until)));
      } catch (error) {
        failure = messageOf(error);
      }
      if (signal.aborted) return;
      if (failure === undefined) setAnswers(found);
      setProblem(failure);
      const again = againMs(found);
      if (again !== undefined) timer = setTimeout(() => void load(), again);
    };
    const show = (): void => void (isWaiting && load());
    document.addEventListener('visibilitychange', show, { signal });
    void load();
    return () => {
      left.abort();
      clearTimeout(timer);
    };
  }, [key]);
  return { answers, problem };
}

interface Answer<T> {
  readonly answer: T | undefined;
  readonly problem: string | undefined;
}

/**
 * Loads the response for a path. Reloads it as long as the response contains `progress`, because it
 * is still incomplete.
 */
export function useAnswer<T>(path: string): Answer<T> {
  const { answers, problem } = useAnswers<T>([path], whileReading);
  return { answer: answers[0], problem };
}

const readingMs = 500;
/**
 * Returns {@link readingMs} if a response contains `progress`, because the server is still reading
 * the data.
 */
export const whileReading = (answers: readonly unknown[]): number | undefined =>
  answers.some((answer) => (answer as { readonly progress?: unknown }).progress !== undefined)
    ? readingMs
    : undefined;

/** Milliseconds between reloads. Reloads are rare, because each one reads the newest rollouts. */
const runningMs = 30_000;

/**
 * Loads a response about a run, and reloads it while the run continues.
 * @param path path below the run's path, such as `story`
 */
export function useRunAnswer<T>(
  id: string | undefined,
  run: RunSummary | undefined,
  path: string,
): Answer<T> {
  const paths = id === undefined ? [] : [runPath(id, path)];
  const again = run?.state === 'running' ? runningMs : undefined;
  const { answers, problem } = useAnswers<T>(paths, () => again);
  return { answer: answers[0], problem };
}
