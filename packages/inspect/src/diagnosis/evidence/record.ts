/** Record of a training run: the data that the rules examine. */
import { hash } from 'node:crypto';
import { type Experience, type Metrics, actionCount, taskKey } from '@trinity-rft/core';
import type { ExperienceRows } from '@trinity-rft/core/store';
import type { MetricLine } from '@trinity-rft/monitor';

/** One value of a metric; NaN if the recorded value is not finite. */
export interface Point {
  readonly step: number;
  readonly value: number;
}

/** Recorded data of a run, or of one stage of it. */
export interface RunRecord {
  /**
   * Returns the points of a metric in ascending order of steps, or an empty list if there is no
   * such metric. Points of the role `bench` are in the order of the evaluations, and several of
   * them may have the same step.
   */
  readonly points: (role: MetricRole, name: string) => readonly Point[];
  readonly names: (role: MetricRole) => readonly string[];
  /** The newest recorded rollouts, in any order. */
  readonly rollouts: readonly RolloutFacts[];
  /** Messages of `failure.txt`, causes included, if the last attempt failed. */
  readonly failure?: string | undefined;
  /** Settings that changed when the run was resumed, one sentence each. @default no changes */
  readonly changes?: readonly string[] | undefined;
}

export type Role = 'explorer' | 'trainer';

/** Roles that write metrics; `bench` evaluates checkpoints, as `trinity eval` does. */
export type MetricRole = Role | 'bench';

/** Fields of a recorded experience that the rules use. */
export interface RolloutFacts {
  /** Id of the row in the store. */
  readonly id: number;
  readonly batch: string;
  /** `batch/task`: attempts with the same value form a group. */
  readonly group: string;
  readonly run: number;
  readonly step: number;
  readonly reward: number | undefined;
  readonly trainedTokens: number;
  readonly isTruncated: boolean;
  /** Hash of the prompt's tokens: equal for equal prompts. */
  readonly promptKey: string;
  readonly hasPrompt: boolean;
  readonly hasAnswer: boolean;
  /** True for a call of a product, which `trinity serve` has recorded. */
  readonly isServed: boolean;
  readonly metrics: Metrics;
  /** Reasons that the reward function gave, keyed by the name of the part of the reward. */
  readonly reasons: Readonly<Record<string, string>>;
}

/** Returns functions that look up metrics in lines of `metrics.jsonl`. */
export function metricsOf(lines: readonly MetricLine[]): Pick<RunRecord, 'points' | 'names'> {
  const tables = new Map<string, Map<string, Point[]>>();
  for (const { role, step, metrics, timing } of lines) {
    const table = tables.get(role) ?? new Map<string, Point[]>();
    tables.set(role, table);
    for (const [name, value] of Object.entries({ ...metrics, ...timing })) {
      const points = table.get(name) ?? [];
      table.set(name, points);
      points.push({ step, value: value ?? Number.NaN });
    }
  }
  return {
    points: (role, name) => tables.get(role)?.get(name) ?? [],
    names: (role) => [...(tables.get(role)?.keys() ?? [])],
  };
}

/**
 * Matches the log lines that `describeChanges` writes, except those about settings of complete
 * stages.
 */
const loggedChange = /^WARN +\S+ ((?:\S+ )?\S+: changed from (?!.*: takes no effect: ).*)$/;

/**
 * Returns the description of the changed setting that a line of `trinity.log` reports, as a list of
 * one; an empty list if the line reports none.
 */
export const changeIn = (line: string): readonly string[] =>
  loggedChange.exec(line)?.slice(1) ?? [];

const pageSize = 128;
const defaultMost = 2048;

/** Returns the rollouts of a store whose ids are among the `most` newest ones. */
export const newestRollouts = (
  source: ExperienceRows,
  most = defaultMost,
): readonly RolloutFacts[] => [...rolloutPages(source, most)].flat();

/**
 * Yields the rollouts of {@link newestRollouts} page by page, so that a server can do other work in
 * between.
 */
export function* rolloutPages(
  source: ExperienceRows,
  most = defaultMost,
): Generator<readonly RolloutFacts[]> {
  const newest = source.newestId();
  let last = Math.max(0, newest - most);
  while (last < newest) {
    const rows = source.rowsAfter(last, pageSize);
    yield rows.map(({ id, experience }) => factsOf(id, experience));
    last = rows.at(-1)?.id ?? newest;
  }
}

function factsOf(id: number, experience: Experience): RolloutFacts {
  const { eid, reward, promptText, responseText, truncateStatus, metrics } = experience;
  const trainedTokens = actionCount(experience);
  return {
    id,
    batch: String(eid.batch),
    group: taskKey(eid),
    run: eid.run,
    step: eid.step,
    reward,
    trainedTokens,
    isTruncated: truncateStatus === 'response_truncated',
    promptKey: hash('sha1', experience.tokens.slice(0, experience.promptLength), 'base64'),
    hasPrompt: promptText === undefined || saysSomething(promptText),
    // Tokens are checked as well, because an answer that only calls tools has an empty text.
    hasAnswer:
      responseText === undefined || responseText.trim() !== '' || trainedTokens > endTokens,
    isServed: experience.info['msgId'] !== undefined,
    metrics,
    reasons: reasonsIn(experience.info),
  };
}

/**
 * Returns the reasons that the reward function gave, keyed by the name of the part of the reward.
 */
export function reasonsIn({ reasons }: Experience['info']): Readonly<Record<string, string>> {
  if (typeof reasons !== 'object' || reasons === null) return {};
  return Object.fromEntries(Object.entries(reasons).map(([name, text]) => [name, String(text)]));
}

/** Maximum number of tokens of an empty response: the end token, and a line break before it. */
const endTokens = 2;

const markers = /<[^<>\s]{1,40}>/g;
const roles = /\b(?:system|user|assistant|model)\b/g;

/** True if the prompt contains more than the markers and role names of a chat template. */
const saysSomething = (prompt: string): boolean =>
  /[\p{L}\p{N}]/u.test(prompt.replaceAll(markers, ' ').replaceAll(roles, ' '));
