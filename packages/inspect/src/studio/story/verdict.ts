/** Verdict of a story: a headline, and sentences with the evidence. */
import type { EvaluationChange, Verdict } from '../../diagnosis/index.js';
import { signed } from '../interface/figures.js';
import type { RunSummary, Story } from '../interface/types.js';

type StoryVerdict = Story['verdict'];

const notMeasured = { kind: 'notMeasured', headline: 'Nothing says whether it learned.' } as const;
const noEvaluation =
  'Nothing was evaluated twice, so whether it got better at tasks outside the training set is unknown.';
const noMeasure = 'There is neither a second evaluation nor a reward of at least three steps.';

/** @param scores sentences about the scores of a benchmark, which has nothing to compare */
export function storyVerdict(
  summary: RunSummary,
  verdict: Verdict | undefined,
  scores: readonly string[],
): StoryVerdict {
  const { state } = summary;
  const evaluation = verdict?.evaluation && evaluationOf(verdict.evaluation);
  const seen = evidenceOf(verdict);
  if (state === 'failed' || state === 'running' || state === 'stopped')
    return {
      kind: state,
      headline: unfinishedHeadline(state, summary),
      text: [causeOf(summary) ?? [], verdict ? `So far: ${seen}` : [], scores].flat().join('\n'),
      evaluation,
    };
  if (!verdict && scores.length > 0)
    return { kind: 'measured', headline: 'Measured.', text: sentences(...scores) };
  const { kind, headline } = verdict ?? notMeasured;
  return { kind, headline, text: seen, evaluation };
}

function evidenceOf(verdict: Verdict | undefined): string {
  if (!verdict) return noMeasure;
  const { text, evaluation } = verdict;
  return sentences(text, evaluation ? differenceText(evaluation) : noEvaluation);
}

/**
 * The change as text:
 * `The difference is +0.092 (95 % interval +0.061 to +0.123, which excludes 0).`, and then the
 * numbers of tasks whose reward rose, fell and stayed the same.
 */
function differenceText({ difference, interval, change, paired }: EvaluationChange): string {
  if (paired && paired.better + paired.worse === 0)
    return `None of the ${paired.same} tasks changed its reward.`;
  const range =
    interval === undefined
      ? 'of an unknown interval'
      : `95 % interval ${signed(interval.low)} to ${signed(interval.high)}`;
  const chance = change === 'same' ? 'which includes 0' : 'which excludes 0';
  const tasks =
    paired === undefined
      ? ''
      : ` Of the tasks, ${paired.better} got better, ${paired.worse} worse, ${paired.same} stayed.`;
  return `The difference is ${signed(difference)} (${range}${interval ? `, ${chance}` : ''}).${tasks}`;
}

function unfinishedHeadline(
  state: 'failed' | 'running' | 'stopped',
  { steps, trainStep, exploreStep }: RunSummary,
): string {
  const done = steps?.done ?? trainStep ?? exploreStep;
  const place =
    done === undefined ? '' : ` step ${done}${steps === undefined ? '' : ` of ${steps.total}`}`;
  if (state === 'running') return `Running${place === '' ? '' : `:${place}`}.`;
  const verb = state === 'failed' ? 'It failed' : 'It was stopped';
  if ((trainStep ?? 0) === 0 && exploreStep)
    return `${verb} after explore step ${exploreStep}, before anything was trained.`;
  return (done ?? 0) === 0 ? `${verb} before its first step.` : `${verb} after${place}.`;
}

/** Messages of the failure, the root cause first. */
const causeOf = ({ failure }: RunSummary): string | undefined =>
  failure
    ?.trim()
    .split(/\s*\[cause\]:\s*/)
    .toReversed()
    .join('\n')
    .slice(0, 600);

function evaluationOf({
  set,
  metric,
  before,
  after,
  difference,
  interval,
  paired,
}: EvaluationChange): Story['evaluations'][number] {
  const scored = ({ version, value, interval: own }: EvaluationChange['before']) => ({
    step: version,
    value,
    interval: own && { ...own },
  });
  return {
    set,
    metric,
    before: scored(before),
    after: scored(after),
    difference,
    interval: interval && { ...interval },
    tasks: paired && { better: paired.better, worse: paired.worse, same: paired.same },
  };
}

export const evaluationsOf = (changes: readonly EvaluationChange[]): Story['evaluations'] =>
  changes.map(evaluationOf);

const sentences = (...parts: readonly (string | undefined)[]): string =>
  parts.filter((part) => part !== undefined && part !== '').join(' ');
