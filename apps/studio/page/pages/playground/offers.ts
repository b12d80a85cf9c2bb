/** Loads the models to choose from, and prompts from a run's tasks. */
import type { TaskPage } from '@trinity-rft/inspect/studio/interface';
import { useEffect, useState } from 'preact/hooks';
import type { Checkpoint } from '../../../src/control/interface/index.js';
import { afterErrorMs, ask, isWorthAgain, runPath } from '../../api.js';
import type { Offer } from './sources.js';

const answerMs = 8000;
/** Maximum number of runs whose checkpoints are offered. */
const mostRuns = 20;
const mostQuestions = 4;
/** Maximum length of a prompt on a button, in characters. */
const longest = 160;

/** Returns the runs that have checkpoints, with these checkpoints; undefined while loading. */
export function useOffers(all: readonly string[] | undefined): readonly Offer[] | undefined {
  const [offers, setOffers] = useState<readonly Offer[]>();
  const [times, setTimes] = useState(0);
  const ids = all?.slice(0, mostRuns);
  useEffect(() => {
    if (ids === undefined) return undefined;
    const left = new AbortController();
    let timer: ReturnType<typeof setTimeout> | undefined;
    let isAgain = false;
    const look = async (run: string): Promise<Offer> => {
      const signal = AbortSignal.any([left.signal, AbortSignal.timeout(answerMs)]);
      const found = ask<Checkpoint[]>(runPath(run, 'checkpoints'), signal);
      const checkpoints = await found.catch((error: unknown) => {
        isAgain ||= isWorthAgain(error);
        return [];
      });
      return { run, checkpoints };
    };
    void Promise.all(ids.map(look)).then((found) => {
      if (left.signal.aborted) return;
      setOffers(found.filter(({ checkpoints }) => checkpoints.length > 0));
      if (isAgain) timer = setTimeout(() => setTimes(times + 1), afterErrorMs);
    });
    return () => {
      left.abort();
      clearTimeout(timer);
    };
    // Runs in progress change places often.
  }, [ids?.toSorted().join('\n'), times]);
  return offers;
}

/**
 * Returns prompts from at most {@link mostQuestions} tasks of a run. Tasks with the lowest latest
 * rewards come first.
 */
export function useQuestions(run: string | undefined): readonly string[] {
  const [questions, setQuestions] = useState<readonly string[]>([]);
  useEffect(() => {
    setQuestions([]);
    if (run === undefined) return undefined;
    const gone = new AbortController();
    const query = { sort: 'latest', descending: 'false', size: 4 * mostQuestions };
    ask<TaskPage>(runPath(run, 'tasks', query), gone.signal).then(
      ({ rows }) => setQuestions(someOf(rows.map(({ question }) => question))),
      () => undefined,
    );
    return () => gone.abort();
  }, [run]);
  return questions;
}

const someOf = (questions: readonly string[]): readonly string[] =>
  [...new Set(questions.map((text) => text.trim()))]
    .filter((text) => text !== '' && text.length <= longest)
    .slice(0, mostQuestions);
