/**
 * Recorded answers of evaluations: each task with its answers from the first and the last weights.
 */
import { withReader } from '@trinity-rft/buffer';
import { existsSync } from 'node:fs';
import type { ExperienceReader } from '@trinity-rft/buffer';
import { loadTokenizer, type Tokenizer } from '@trinity-rft/chat';
import { mean, runKey, type Experience } from '@trinity-rft/core';
import { pairedDifference } from '@trinity-rft/explorer';
import { answersFile } from '@trinity-rft/launcher/files';
import { reasonsIn, type PairedOf } from '../diagnosis/index.js';

export interface AnsweredSet {
  readonly set: string;
  /**
   * Policy versions of the first and the last evaluation; equal if there is only one evaluation.
   */
  readonly first: number;
  readonly last: number;
  /** Tasks in the order of their rows. */
  readonly tasks: readonly AnsweredTask[];
}

/** A task that at least one rollout of either evaluation has answered. */
export interface AnsweredTask {
  readonly row: number;
  /** Text of the first prompt. */
  readonly question: string | undefined;
  /** Expected answer, if the task has one. */
  readonly truth: string | undefined;
  /** Answer by the first weights; undefined if every rollout failed. */
  readonly before: Answered | undefined;
  readonly after: Answered | undefined;
}

export interface Answered {
  /** Mean reward of the rollouts that did not fail. */
  readonly reward: number;
  /** Number of rollouts that did not fail. */
  readonly runs: number;
  /** Responses of the first rollout that did not fail, one per model call. */
  readonly answers: readonly string[];
  /** Reasons that the reward function gave for this rollout, one per part of the reward. */
  readonly reasons: readonly string[];
}

/**
 * Returns the answers in the evaluations of a stage, grouped by set. Returns an empty list if none
 * are recorded.
 * @param tokenizerFolder folder of a tokenizer, with which responses are decoded completely,
 * including tool calls. @default no tokenizer: responses are the recorded texts
 */
export async function readAnswers(
  directory: string,
  tokenizerFolder?: string,
): Promise<readonly AnsweredSet[]> {
  const file = answersFile(directory);
  if (!existsSync(file)) return [];
  const tokenizer =
    tokenizerFolder === undefined ? undefined : await loadTokenizer(tokenizerFolder);
  return [...Map.groupBy(withReader(file, firstAndLast), setOf)].map(([set, answers]) =>
    answeredSet(set, answers, tokenizer),
  );
}

/**
 * Returns a function that compares the rewards of the first and the last evaluation task by task. A
 * failed rollout counts as reward 0. The function returns undefined for metrics other than rewards.
 * It also returns undefined if the mean difference of the recorded answers is not `difference`,
 * because they then belong to another evaluation.
 */
export const pairedRewards =
  (sets: readonly AnsweredSet[]): PairedOf =>
  ({ set, metric, difference, taskCount = 0 }) => {
    const repeatTimes = /\/reward\/mean@(\d+)$/.exec(metric)?.[1];
    const { tasks } = sets.find((each) => each.set === set) ?? { tasks: [] };
    if (repeatTimes === undefined || tasks.length === 0) return undefined;
    const value = (answered: Answered | undefined): number =>
      answered ? (answered.reward * answered.runs) / Number(repeatTimes) : 0;
    const unanswered = Array.from({ length: Math.max(0, taskCount - tasks.length) }, () => 0);
    const paired = pairedDifference(
      [...tasks.map(({ before }) => value(before)), ...unanswered],
      [...tasks.map(({ after }) => value(after)), ...unanswered],
    );
    return Math.abs(paired.mean - difference) < sameMean ? paired : undefined;
  };

/** Tolerance for rounding errors in the mean of rewards. */
const sameMean = 1e-6;

export const gainOf = ({ before, after }: AnsweredTask): number =>
  (after?.reward ?? 0) - (before?.reward ?? 0);

const setOf = ({ info }: Experience): string => String(info['taskset']);

/**
 * Returns the answers of the first and the last policy version. Returns the answers of all versions
 * if these two were evaluated on different sets.
 */
function firstAndLast(reader: ExperienceReader): readonly Experience[] {
  const versions = reader.versions();
  const [first, last] = [versions.at(0)?.policyVersion, versions.at(-1)?.policyVersion];
  const before = [...reader.experiences(first)];
  if (first === last) return before;
  const after = [...reader.experiences(last)];
  const sets = [before, after].map((answers) => new Set(answers.map(setOf)));
  const isSame = sets[0]?.symmetricDifference(sets[1] ?? new Set()).size === 0;
  return isSame ? [...before, ...after] : [...reader.experiences()];
}

function answeredSet(
  set: string,
  answers: readonly Experience[],
  tokenizer: Tokenizer | undefined,
): AnsweredSet {
  const versions = answers.map(({ policyVersion }) => policyVersion);
  const [first, last] = [Math.min(...new Set(versions)), Math.max(...new Set(versions))];
  const of = (version: number): ReadonlyMap<number, readonly Experience[]> =>
    Map.groupBy(
      answers.filter(({ policyVersion }) => policyVersion === version),
      ({ info }) => Number(info['row']),
    );
  const [before, after] = [of(first), of(last)];
  const rows = [...new Set([...before.keys(), ...after.keys()])].toSorted((a, b) => a - b);
  return {
    set,
    first,
    last,
    tasks: rows.map((row) => ({
      row,
      ...taskOf((after.get(row) ?? before.get(row))?.find(({ eid }) => eid.step === 0)),
      before: answeredBy(before.get(row), tokenizer),
      after: answeredBy(after.get(row), tokenizer),
    })),
  };
}

const taskOf = (call: Experience | undefined) => {
  const truth = call?.info['truth'];
  return {
    question: call?.promptText,
    truth: typeof truth === 'string' || typeof truth === 'number' ? String(truth) : undefined,
  };
};

function answeredBy(
  calls: readonly Experience[] | undefined,
  tokenizer: Tokenizer | undefined,
): Answered | undefined {
  if (!calls) return undefined;
  const runs = [...Map.groupBy(calls, ({ eid }) => runKey(eid)).values()].map((run) =>
    run.toSorted((a, b) => a.eid.step - b.eid.step),
  );
  const [run = []] = runs;
  return {
    reward: mean(runs.map((each) => each.at(-1)?.reward ?? 0)),
    runs: runs.length,
    answers: run.map((call) => responseOf(call, tokenizer)),
    reasons: reasonsOf(run.at(-1)),
  };
}

/** Returns one line for each part of the reward that has a reason. */
export const reasonsOf = (call: Experience | undefined): readonly string[] =>
  Object.entries(reasonsIn(call?.info ?? {})).map(([name, text]) => `${name}: ${text}`);

function responseOf(
  { tokens, promptLength, responseText = '' }: Experience,
  tokenizer: Tokenizer | undefined,
): string {
  if (!tokenizer) return responseText;
  const answered = tokens.subarray(promptLength);
  const end = tokenizer.eosTokenIds.includes(answered.at(-1) ?? -1) ? -1 : undefined;
  return tokenizer.decode(answered.slice(0, end));
}
