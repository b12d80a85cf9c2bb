/** Loads metrics of the shown runs, and reloads them whenever a run changes. */
import type { Curve, Marks, MetricInfo, MetricList } from '@trinity-rft/inspect/studio/interface';
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import {
  afterErrorMs,
  ask,
  hasLastEvent,
  isWorthAgain,
  messageOf,
  Refusal,
  runPath,
} from './api.js';
import type { PageProps } from './place.js';
import { words as frame } from './words/frame.js';

/** Maximum number of runs that are shown together, because further colours would look alike. */
export const mostRuns = 5;

export type Axis = Curve['axis'];

export const axisOf = (text: string | undefined): Axis =>
  text !== undefined && text in frame.axes ? (text as Axis) : 'step';

/** Name of a metric in URLs. */
export const keyOf = ({ role, name }: Pick<MetricInfo, 'role' | 'name'>): string =>
  `${role} ${name}`;

/** Ids of the runs in the URL, and a string that changes whenever one of these runs changes. */
export function shownRuns({ runs = [], place }: Pick<PageProps, 'runs' | 'place'>) {
  const ids = place.runs.slice(0, mostRuns);
  const version = ids.map((id) => runs.find((run) => run.id === id)?.changedAt ?? 0).join();
  return { ids, version };
}

const togetherMs = 60;
let shows: (() => void)[] = [];

/**
 * Collects the updates that a change of a run causes, and draws them together, because each redraw
 * takes computing time from training on the same machine.
 */
function showTogether(show: () => void): void {
  if (shows.length === 0)
    setTimeout(() => {
      const all = shows;
      shows = [];
      for (const each of all) each();
    }, togetherMs);
  shows.push(show);
}

interface OfRuns<T> {
  readonly answers: readonly {
    readonly run: string;
    /** Index of the run among the shown runs, which determines its colour. */
    readonly index: number;
    readonly answer: T;
  }[];
  /** Messages of failed requests, one per line; undefined if none failed. */
  readonly problem?: string | undefined;
}

/** Minimum interval in ms between updates of the list of all metrics, which is slow to draw. */
const listMs = 3000;

/**
 * Loads a response from the server for each run. Failed requests are retried.
 * @param isOptional true if a missing response (404) is not a problem
 */
function useOfRuns<T>(
  ids: readonly string[],
  path: (run: string) => string,
  version: string,
  isOptional = false,
): OfRuns<T> {
  const [found, setFound] = useState<OfRuns<T>>({ answers: [] });
  const [times, setTimes] = useState(0);
  const paths = ids.map(path);
  useEffect(() => {
    const left = new AbortController();
    const problems: string[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    const asked = ids.map(async (run, index) => {
      try {
        return [{ run, index, answer: await ask<T>(path(run), left.signal) }];
      } catch (error) {
        if (isOptional && error instanceof Refusal && error.status === 404) return [];
        problems.push(`${run}: ${messageOf(error)}`);
        if (isWorthAgain(error) && !left.signal.aborted)
          timer ??= setTimeout(() => setTimes(times + 1), afterErrorMs);
        return [];
      }
    });
    void Promise.all(asked).then((all) => {
      const problem = problems.length === 0 ? undefined : problems.join('\n');
      showTogether(() => left.signal.aborted || setFound({ answers: all.flat(), problem }));
    });
    return () => {
      left.abort();
      clearTimeout(timer);
    };
  }, [paths.join('\n'), version, times]);
  return found;
}

export interface RunMetrics {
  readonly run: string;
  readonly metrics: readonly MetricInfo[];
}

const againMs = 500;
/** Throttles a value: the returned value changes at most once in `ms` milliseconds. */
function useAtMostEvery<T>(ms: number, value: T): T {
  const [shown, setShown] = useState(value);
  const shownAt = useRef(0);
  useEffect(() => {
    if (value === shown) return undefined;
    const show = (): void => {
      shownAt.current = performance.now();
      setShown(value);
    };
    const timer = setTimeout(show, Math.max(0, shownAt.current + ms - performance.now()));
    return () => clearTimeout(timer);
  }, [value, ms]);
  return shown;
}

/**
 * Loads all metrics of each run. The metrics of a large file arrive in parts; `share` is the part
 * of the file that has been read, from 0 to 1.
 */
export function useMetrics(
  ids: readonly string[],
  version: string,
): {
  readonly runs: readonly RunMetrics[];
  readonly share: number;
  readonly problem: string | undefined;
} {
  const [times, setTimes] = useState(0);
  // The first metrics of a run are shown at once.
  const isKnown = useRef(false);
  const recent = useAtMostEvery(isKnown.current && !hasLastEvent() ? listMs : 0, version);
  const found = useOfRuns<MetricList>(ids, (run) => runPath(run, 'metrics'), `${recent} ${times}`);
  const { answers: lists, problem } = found;
  isKnown.current = lists.some(({ answer: { metrics } }) => metrics.length > 0);
  const share = Math.min(1, ...lists.map(({ answer }) => answer.share));
  useEffect(() => {
    if (share === 1) return undefined;
    const timer = setTimeout(() => setTimes(times + 1), againMs);
    return () => clearTimeout(timer);
  }, [found]);
  const runs = useMemo(
    () => lists.map(({ run, answer: { metrics } }) => ({ run, metrics })),
    [lists],
  );
  return { runs, share, problem };
}

/** Metrics of all runs, sorted by name, without duplicates. */
export function allMetrics(runs: readonly RunMetrics[]): readonly MetricInfo[] {
  const all = runs.toReversed().flatMap(({ metrics }) => metrics);
  const byKey = new Map(all.map((metric) => [keyOf(metric), metric]));
  return [...byKey.values()].toSorted((a, b) => (a.name < b.name ? -1 : 1));
}

export type Range = readonly [from: number, to: number];

export interface CurveQuery {
  readonly role: string;
  readonly name: string;
  readonly axis: Axis;
  readonly range?: Range | undefined;
  readonly smooth?: number;
  readonly points?: number;
}

export interface RunCurve {
  readonly run: string;
  /** Index of the run among the shown runs; runs without the metric have no curve. */
  readonly index: number;
  readonly curve: Curve;
}

export function useCurves(
  ids: readonly string[],
  { role, name, axis, range, smooth, points = 2000 }: CurveQuery,
  version: string,
): { readonly curves: readonly RunCurve[]; readonly problem: string | undefined } {
  const query = { role, name, axis, from: range?.[0], to: range?.[1], smooth, points };
  const path = (run: string): string => runPath(run, 'curve', query);
  const { answers, problem } = useOfRuns<Curve>(ids, path, version, true);
  const curves = useMemo(
    () => answers.map(({ answer: curve, ...of }) => ({ ...of, curve })),
    [answers],
  );
  return { curves, problem };
}

/**
 * Reports the problem of a part of a page, or undefined if the part has no problem or no longer has
 * one.
 */
export type OnProblem = (part: object, problem: string | undefined) => void;

/**
 * Collects the problems of a page and of its parts.
 * @returns the distinct problems, one per line; undefined if there are none
 */
export function useProblems(
  own: string | undefined,
): readonly [problems: string | undefined, onProblem: OnProblem] {
  const [found, setFound] = useState<ReadonlyMap<object, string>>(new Map());
  const onProblem = useCallback<OnProblem>((part, problem) => {
    setFound((before) => {
      if (before.get(part) === problem) return before;
      const next = new Map(before);
      if (problem === undefined) next.delete(part);
      else next.set(part, problem);
      return next;
    });
  }, []);
  const lines = new Set([own, ...found.values()].flatMap((text) => text?.split('\n') ?? []));
  return [lines.size === 0 ? undefined : [...lines].join('\n'), onProblem];
}

export interface RunMarks {
  readonly run: string;
  readonly marks: Marks;
}

export function useMarks(
  ids: readonly string[],
  role: string,
  axis: Axis,
  version: string,
): readonly RunMarks[] {
  const { answers } = useOfRuns<Marks>(
    ids,
    (run) => runPath(run, 'marks', { role, axis }),
    version,
    true,
  );
  return useMemo(() => answers.map(({ run, answer }) => ({ run, marks: answer })), [answers]);
}
