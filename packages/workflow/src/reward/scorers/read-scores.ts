/** Reads the results of scorers as parts of a reward with reasons. */
import { RewardError, type ReasonedReward } from '@trinity-rft/core';

type Fields = Readonly<Record<string, unknown>>;

/** Names under which libraries return the score: autoevals and evalite, Langfuse, promptfoo. */
const scoreKeys = ['score', 'value', 'pass'] as const;
const nameKeys = ['name', 'key'] as const;
/**
 * Names under which libraries return an explanation: in the result itself, otherwise in its
 * `metadata`.
 */
const reasonKeys = ['comment', 'reason', 'explanation', 'rationale'] as const;

/**
 * Converts the result of a scorer to a reward with its parts and reasons.
 * @param title name for a score that has none
 * @throws RewardError if a scorer reports an error or returns no number, or if two scores have the
 * same name
 */
export function readScores(result: unknown, title: string): ReasonedReward {
  const parts: Record<string, number> = {};
  const reasons: Record<string, string> = {};
  const found = Array.isArray(result) ? (result as readonly unknown[]) : [result];
  for (const one of found) {
    const { name, score, reason } = readScore(one, title);
    if (Object.hasOwn(parts, name))
      throw failed(name, 'gave two scores of this name', 'Give each of them a name');
    parts[name] = score;
    if (reason !== undefined) reasons[name] = reason;
  }
  if (found.length === 0) throw failed(title, 'gave an empty list', 'Return at least one score');
  return { parts, reasons };
}

interface ReadScore {
  readonly name: string;
  readonly score: number;
  readonly reason: string | undefined;
}

function readScore(given: unknown, title: string): ReadScore {
  const isFields = typeof given === 'object' && given !== null;
  const fields: Fields = isFields ? (given as Fields) : { score: given };
  const own = firstOf(fields, nameKeys);
  const name = typeof own === 'string' ? own : title;
  const { error, metadata } = fields;
  if (error !== undefined && error !== null)
    throw failed(name, `reported an error: ${textOf(error)}`, 'A failure is no score of 0');
  const score = firstOf(fields, scoreKeys);
  if (typeof score !== 'number' && typeof score !== 'boolean')
    throw failed(
      name,
      `gave ${score === undefined || score === null ? 'no score' : `the score ${JSON.stringify(score)}`}`,
      'Expected a number, or true or false',
    );
  const reason = firstOf(fields, reasonKeys) ?? firstOf((metadata ?? {}) as Fields, reasonKeys);
  return { name, score: Number(score), reason: typeof reason === 'string' ? reason : undefined };
}

const firstOf = (fields: Fields, keys: readonly string[]): unknown =>
  keys.map((key) => fields[key]).find((value) => value !== undefined && value !== null);

const textOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

const failed = (name: string, what: string, fix: string): RewardError =>
  new RewardError(`The scorer "${name}" ${what}. ${fix}.`, { code: 'SCORER_FAILED' });
