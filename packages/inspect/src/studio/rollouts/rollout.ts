/** Reads a rollout: all model calls of one attempt at a task. */
import type { ExperienceRow, ExperienceUse } from '@trinity-rft/buffer';
import { type Experience, runKey, spansOf } from '@trinity-rft/core';
import { reasonsIn } from '../../diagnosis/index.js';
import type { Rollout } from '../interface/types.js';
import { callOf, textOf, type Call } from './head.js';
import { folds, durationOf, knownNumber, stalenessOf } from './numbers.js';
import { problemOfRollout } from './problems.js';
import { stepOfBatch } from './row-index.js';
import { advantagesOf, meanAdvantage, type RolloutStore } from './store.js';
import { answerOf, askedIn } from './texts.js';

/** Row of the store with its uses by train steps. */
export interface ReadCall {
  readonly row: ExperienceRow;
  readonly call: Call;
  readonly uses: readonly ExperienceUse[];
}

/** The calls of a rollout in order; at least one. */
export type RolloutCalls = readonly [ReadCall, ...ReadCall[]];

/** Reads the calls of a rollout by their row ids. Returns undefined if none of the rows exists. */
export async function readCalls(
  ids: readonly number[],
  store: RolloutStore,
): Promise<RolloutCalls | undefined> {
  const toolCalls = await store.toolCalls();
  const [first, ...others] = ids
    .flatMap((id) => store.reader.row(id) ?? [])
    .toSorted((a, b) => firstStep(a) - firstStep(b) || a.id - b.id)
    .map((row): ReadCall => {
      const uses = store.reader.uses(row.id);
      const { id, experience } = row;
      const advantage = meanAdvantage(experience, advantagesOf(experience, uses));
      return { row, uses, call: callOf({ ...experience, id, advantage }, toolCalls) };
    });
  return first && [first, ...others];
}

/**
 * Returns the calls of the rollout that row `id` of the store belongs to, or undefined if there is
 * no such row.
 */
export async function rolloutCalls(
  id: number,
  store: RolloutStore,
): Promise<RolloutCalls | undefined> {
  const chosen = store.reader.row(id);
  return chosen && readCalls(store.reader.idsOfRun(runKey(chosen.experience.eid)), store);
}

const firstStep = ({ experience }: ExperienceRow): number =>
  spansOf(experience)[0]?.step ?? experience.eid.step;

const previewLength = 240;

/** Summary of a rollout with shortened texts. */
export async function rolloutOf(calls: RolloutCalls, store: RolloutStore): Promise<Rollout> {
  const tokenizer = await store.tokenizer();
  const failures = await store.failures.read();
  const [first] = calls;
  const last = calls.at(-1) ?? first;
  const { batch, task, run, taskset, row, truth } = first.call;
  const { experience } = last.row;
  const used = calls.flatMap(({ uses }) => uses.at(-1) ?? []);
  const problem = problemOfRollout({
    recorded: calls.map(({ call }) => call.problem),
    failure: failures.get(runKey(experience.eid)),
    isDropped: used.some(({ dropped }) => dropped),
  });
  return {
    id: first.row.id,
    rows: calls.map((each) => each.row.id),
    batch,
    task,
    run,
    taskset,
    row,
    truth,
    step: stepOfBatch(batch),
    ...numbersOf(calls),
    parts: store.rewardParts(experience.metrics),
    reasons: reasonsIn(experience.info),
    trainStep: used.at(-1)?.trainStep,
    tools: toolNames(calls),
    problem: problem?.text,
    problemKind: problem?.kind,
    question: askedIn(first.row.experience, tokenizer).slice(-previewLength),
    answer: answerOf(experience, tokenizer, previewLength),
  };
}

type Numbers = Pick<
  Rollout,
  | 'reward'
  | 'advantage'
  | 'policyVersion'
  | 'staleness'
  | 'promptTokens'
  | 'responseTokens'
  | 'turns'
  | 'toolCalls'
  | 'startedAt'
  | 'seconds'
>;

function numbersOf(calls: RolloutCalls): Numbers {
  const values = (read: (call: ReadCall) => number | undefined): readonly number[] =>
    calls.map((call) => read(call) ?? Number.NaN);
  const starts = values(({ call }) => call.times?.at(0)?.start);
  const ends = values(({ call }) => call.times?.at(-1)?.end);
  return {
    reward: knownNumber(folds.reward(values(({ call }) => call.reward))),
    advantage: knownNumber(folds.advantage(values(({ call }) => call.advantage))),
    policyVersion: folds.policyVersion(values(({ call }) => call.policyVersion)),
    staleness: knownNumber(folds.staleness(values(staleness))),
    promptTokens: folds.promptTokens(values(({ call }) => call.promptTokens)),
    responseTokens: folds.responseTokens(values(({ call }) => call.responseTokens)),
    turns: folds.turns(values(({ call }) => call.turns)),
    toolCalls: folds.toolCalls(values(({ call }) => call.tools.length)),
    startedAt: starts.find((start) => !Number.isNaN(start)),
    seconds: knownNumber(durationOf(starts, ends) / 1000),
  };
}

function staleness({ call, uses }: ReadCall): number | undefined {
  const last = uses.at(-1);
  return last && stalenessOf(call.policyVersion, last.trainStep);
}

const toolNames = (calls: RolloutCalls): string[] => [
  ...new Set(calls.flatMap(({ call }) => call.tools.flatMap(({ name }) => name ?? []))),
];

/** Stop reason of the model. */
export const finishReasonOf = ({ info }: Experience): string | undefined =>
  textOf(info['finishReason']);
