/** Problems of a configuration: the mistake, its position, and what to do. */
import { ConfigError } from '@trinity-rft/core';

/** Line and column, both from 1. Both are 0 for a value that is not from a file. */
export interface SourcePosition {
  readonly line: number;
  readonly column: number;
}

/** Position of values from overrides. */
export const nowhere: SourcePosition = { line: 0, column: 0 };

/** A problem at a key. The key is empty if the file could not be read as a tree. */
export interface LocatedProblem {
  readonly at: SourcePosition;
  /** Keys and list indices from the root of the file. */
  readonly key: readonly (string | number)[];
  readonly message: string;
}

/** A problem in a configuration file, with a position for editors. */
export interface ConfigProblem extends SourcePosition {
  /** Path of the file as the caller gave it. */
  readonly file: string;
  /** Path of the key, such as `buffer.batch_size`; empty if the problem is not about a key. */
  readonly key: string;
  /** The mistake, the expected value, and what to do. Contains no secrets. */
  readonly message: string;
}

/** Returns a string such as `run.yaml:5:3 buffer.batch_size: ...`. */
export function renderProblem(problem: ConfigProblem): string {
  const key = problem.key === '' ? '' : `${problem.key}: `;
  const place =
    problem.line === 0 ? `${problem.file}:` : `${problem.file}:${problem.line}:${problem.column}`;
  return `${place} ${key}${problem.message}`;
}

/** A problem for programs: plain JSON with stable names. */
export interface ProblemReport extends SourcePosition {
  readonly file: string;
  /** Path of the key, such as `buffer.batch_size`; empty if the problem is not about a key. */
  readonly path: string;
  /** The mistake. */
  readonly message: string;
  /** The remedy in one or more sentences; empty if the message includes the remedy. */
  readonly fix: string;
}

/** Words with which the advice in a message begins, as alternatives of a regular expression. */
const advice =
  'Add|Ask|Build|Change|Check|Choose|Clear|Close|Copy|Create|Declare|Delete|Did you mean|Drop|Either|End|Expected|Export|Fix|Give|Install|Keep|Lower|Move|Name|Open|Pass|Put|Quote|Raise|Relative paths|Remove|Rename|Replace|Restore|Run|Sample|Save|Set|Shorten|Start|Train|Use|Wait|Write';
const fixes = [
  new RegExp(String.raw`^(.*?[.?!]) ((?:${advice})\b.*)$`, 's'),
  /^(.*[^,]),? (expected .*)$/s,
] as const;

/** Converts a problem to a report, whose message is split into the mistake and the remedy. */
export function reportProblem({ key: path, message, ...place }: ConfigProblem): ProblemReport {
  for (const pattern of fixes) {
    const [, wrong, fix] = pattern.exec(message) ?? [];
    if (wrong === undefined || fix === undefined) continue;
    return {
      ...place,
      path,
      message: ended(wrong),
      fix: `${fix[0]?.toUpperCase()}${fix.slice(1)}`,
    };
  }
  return { ...place, path, message, fix: '' };
}

const ended = (sentence: string): string => (/[.?!]$/.test(sentence) ? sentence : `${sentence}.`);

/** Sorts problems by position, and removes duplicates. */
export function sortProblems<P extends ConfigProblem>(problems: readonly P[]): readonly P[] {
  const unique = new Map(problems.map((problem) => [renderProblem(problem), problem]));
  return [...unique.values()].sort((a, b) => a.line - b.line || a.column - b.column);
}

/** Maximum number of problems in the message of an error; its details contain all. */
const mostShown = 20;

/** Creates one error for all problems of a file. */
export function configError(problems: readonly ConfigProblem[]): ConfigError {
  const sorted = sortProblems(problems);
  const lines = sorted.slice(0, mostShown).map(renderProblem);
  const more = sorted.length - lines.length;
  const rest = more === 0 ? [] : [`... and ${more} more. Is the file a configuration?`];
  const message =
    sorted.length === 1
      ? (lines[0] ?? '')
      : `${sorted[0]?.file ?? 'config'} has ${sorted.length} problems:\n${[...lines, ...rest].map((line) => `  ${line}`).join('\n')}`;
  return new ConfigError(message, { code: 'CONFIG_INVALID', details: { problems: sorted } });
}

/**
 * Returns the problems in an error that `configError` has created. Returns an empty list for other
 * errors.
 */
export function problemsOf(error: unknown): readonly ConfigProblem[] {
  if (!(error instanceof ConfigError)) return [];
  const problems = error.details['problems'];
  return Array.isArray(problems) ? (problems as ConfigProblem[]) : [];
}
