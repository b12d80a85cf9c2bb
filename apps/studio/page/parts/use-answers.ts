/** Loads responses of the server for a page. */
import type { RunSummary } from '@trinity-rft/inspect/studio/interface';
import { useEffect, useRef, useState } from 'preact/hooks';
import { afterErrorMs, ask, isResting, isWorthAgain, messageOf, runPath } from '../api.js';

/** Time in ms between looks for another version. */
const lookMs = 1000;

/** Timeout of requests to which the server responds at once, in milliseconds. */
export const answerMs = 8000;

export interface Answers<T> {
  /** Responses for all paths; until they have arrived, the responses for the previous paths. */
  readonly answers: readonly T[];
  readonly problem: string | undefined;
}

/**
 * Minimum time in ms between the end of a load and a reload for another version, and as a multiple
 * of the duration of the load.
 */
const [changedMs, timesLoad] = [3000, 10];

/**
 * Loads the responses for some paths, again after an error that may pass. Waits while the page is in
 * a hidden tab.
 * @param againMs returns the milliseconds until the next reload, or undefined for no reload. Called
 * with an empty list after an error. @default no reload
 * @param mostMs timeout of a request, in milliseconds. @default no timeout
 * @param version state that the responses depend on: they are reloaded some time after it changes,
 * and at once when it becomes undefined. @default no reload
 */
export function useAnswers<T>(
  paths: readonly string[],
  againMs: (answers: readonly T[]) => number | undefined = () => undefined,
  mostMs?: number,
  version?: string,
): Answers<T> {
  const latest = useRef(version);
  latest.current = version;
  const [answers, setAnswers] = useState<readonly T[]>([]);
  const [problem, setProblem] = useState<string>();
  // A run that ends is loaded once more, and then no longer.
  const key = JSON.stringify([paths, againMs([]), version === undefined]);
  useEffect(() => {
    const left = new AbortController();
    const { signal } = left;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isWaiting = false;
    const load = async (): Promise<void> => {
      isWaiting = isResting();
      if (isWaiting) return;
      const [loaded, begun] = [latest.current, performance.now()];
      let found: readonly T[] = [];
      let failure: string | undefined;
      let again: number | undefined;
      try {
        const late = mostMs === undefined ? [] : [AbortSignal.timeout(mostMs)];
        const until = AbortSignal.any([signal, ...late]);
        found = await Promise.all(paths.map((path) => ask<T>(path, until)));
      } catch (error) {
        failure = messageOf(error);
        if (isWorthAgain(error)) again = afterErrorMs;
      }
      const rest = timesLoad * (performance.now() - begun);
      if (signal.aborted) return;
      if (failure === undefined) setAnswers(found);
      setProblem(failure);
      again = againMs(found) ?? (again && Math.max(again, rest));
      const loadChanged = (): void => {
        if (latest.current !== loaded) void load();
        else timer = setTimeout(loadChanged, lookMs);
      };
      if (again !== undefined) timer = setTimeout(() => void load(), again);
      else if (loaded !== undefined) timer = setTimeout(loadChanged, Math.max(changedMs, rest));
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

/** Minimum time in ms between the writes of a run that reload it within a step. */
const withinStepMs = 30_000;

/**
 * Loads a response about a run, and reloads it while the run makes steps, or writes for long.
 * @param path path below the run's path, such as `story`
 */
export function useRunAnswer<T>(
  id: string | undefined,
  run: RunSummary | undefined,
  path: string,
): Answer<T> {
  const paths = id === undefined ? [] : [runPath(id, path)];
  const version =
    run?.state === 'running'
      ? JSON.stringify([
          run.exploreStep,
          run.trainStep,
          run.evaluation,
          Math.floor(run.changedAt / withinStepMs),
        ])
      : undefined;
  const { answers, problem } = useAnswers<T>(paths, undefined, undefined, version);
  return { answer: answers[0], problem };
}
