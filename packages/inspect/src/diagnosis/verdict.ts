/** Verdict on a run: it has learned, or the root cause why it has not. */
import { diagnose } from './diagnose.js';
import { short } from './evidence/format.js';
import type { RunRecord } from './evidence/record.js';
import type { Finding } from './evidence/rule.js';
import { evalName, flatRatio, lineThrough, rewardCourse, valuesOf } from './evidence/series.js';

export interface Verdict {
  /** `unclear` means that the training reward rose, but evaluations show no more than chance. */
  readonly learned: 'yes' | 'no' | 'unclear';
  /** One sentence with the numbers. */
  readonly text: string;
  /** The first finding of `diagnose`: the cause, if the run has not learned. */
  readonly cause: Finding | undefined;
}

/**
 * If there are two or more evaluations, they decide: the intervals of the first and the last must
 * not overlap. Otherwise the slope of the training reward decides. Undefined if there is neither.
 */
export function verdictOf(run: RunRecord): Verdict | undefined {
  const evaluated = evaluations(run);
  const reward = trainingReward(run);
  const seen = evaluated.find(({ change }) => change !== 'same') ?? evaluated[0] ?? reward;
  if (!seen) return undefined;
  const isUnclear = seen.change === 'same' && reward?.change === 'rose';
  const learned = seen.change === 'rose' ? 'yes' : isUnclear ? 'unclear' : 'no';
  const [cause] = diagnose(run);
  return { learned, text: seen.text, cause };
}

interface Seen {
  readonly change: 'rose' | 'fell' | 'same';
  readonly text: string;
}

function evaluations(run: RunRecord): readonly Seen[] {
  return run
    .names('explorer')
    .filter((name) => evalName.test(name))
    .flatMap((name) => {
      const points = run.points('explorer', name).filter(({ value }) => Number.isFinite(value));
      const [first, last] = [points.at(0), points.at(-1)];
      if (!first || !last || first === last) return [];
      const bound = (side: 'low' | 'high', step: number, value: number): number =>
        run.points('explorer', `${name}/ci95_${side}`).find((each) => each.step === step)?.value ??
        value;
      const rose = bound('low', last.step, last.value) > bound('high', first.step, first.value);
      const fell = bound('high', last.step, last.value) < bound('low', first.step, first.value);
      const change = rose ? 'rose' : fell ? 'fell' : 'same';
      const set = name.split('/').slice(1, -2).join('/');
      const [from, to] = [short(first.value), short(last.value)];
      const chance = change === 'same' ? ', which chance alone may do' : '';
      const verb = change === 'same' ? 'went' : change;
      const course = from === to ? `stayed at ${to}` : `${verb} from ${from} to ${to}${chance}`;
      return [{ change, text: `The evaluation ${set} ${course}.` }];
    });
}

function trainingReward(run: RunRecord): Seen | undefined {
  const course = rewardCourse(run);
  if (!course) return undefined;
  const values = valuesOf(course.points);
  const { slope, error } = lineThrough(course.points);
  const change =
    Math.abs(slope) <= flatRatio * error || slope === 0 ? 'same' : slope > 0 ? 'rose' : 'fell';
  const [from, to] = [short(values[0] ?? 0), short(values.at(-1) ?? 0)];
  if (course.lowest === course.highest)
    return { change, text: `The training reward stayed at ${to}.` };
  const verb = change === 'same' ? 'did not move more than by chance,' : change;
  return { change, text: `The training reward ${verb} from ${from} to ${to}.` };
}
