/**
 * The report of an import: how many records were read, how many rows were written, and what was
 * left out.
 */
import type { ChatMessage } from '@trinity-rft/core';
import { boundedText } from '@trinity-rft/core/support';
import type { Fault, Score } from '../record/item.js';
import { redactValue, type RedactedCounts, type RedactedKind } from '../redact/redact.js';
import type { RowKind } from '../record/row-kind.js';

export interface Place {
  readonly file: string;
  /**
   * Number of the line, JSON list item or CSV row, starting at 1; undefined for a file that was not
   * read.
   */
  readonly line?: number;
}

export interface Skipped {
  readonly reason: string;
  readonly count: number;
  /** The first few records and files that were skipped for this reason. */
  readonly first: readonly (Place & { readonly detail?: string })[];
}

/**
 * Statistics of the lengths of rows, in tokens. A row is rendered with the model's chat template.
 */
export interface Lengths {
  readonly least: number;
  readonly median: number;
  /** 95th percentile of the lengths. */
  readonly percentile95: number;
  readonly most: number;
  readonly total: number;
}

/** Scores of one name. */
export interface ScoreRange {
  readonly count: number;
  readonly least: number;
  readonly most: number;
}

export interface ImportReport {
  /** Version of the report's format. */
  readonly version: 1;
  readonly sources: readonly string[];
  readonly as: RowKind;
  readonly files: number;
  /**
   * Number of records that were read. A record is a row, a span or a test, depending on the source.
   */
  readonly read: number;
  /** Number of rows written, including validation rows. */
  readonly written: number;
  readonly validation: number;
  /** Number of rows that were dropped because they equal an earlier row. */
  readonly duplicates: number;
  readonly skipped: readonly Skipped[];
  /** Number of messages in the written rows, keyed by role. */
  readonly roles: Readonly<Record<string, number>>;
  readonly withTools: number;
  /** Number of rows whose response has a score in the source. */
  readonly withScore: number;
  /** Scores of the responses that were read, keyed by name; undefined if there are none. */
  readonly scores?: Readonly<Record<string, ScoreRange>>;
  /**
   * Number of pairs whose two responses have scores of different names. The option `score` chooses
   * one.
   */
  readonly unlikePairs: number;
  /** Number of assertions in tasks, keyed by assertion type; undefined if there are none. */
  readonly assertions?: Readonly<Record<string, number>>;
  /**
   * Assertions that the reward `taskAssertions` does not check, by type, and the tasks that have no
   * other one; undefined if there are none.
   */
  readonly unchecked?: readonly Skipped[];
  /** Lengths of the rows; undefined if no tokenizer was given. */
  readonly tokens?: Lengths;
  /** Number of redactions by kind; undefined if `redact` was not set. */
  readonly redacted?: RedactedCounts;
}

/**
 * Maximum number of places listed per reason, and maximum number of reasons, and of names of
 * scores, listed separately.
 */
const [mostPlaces, mostReasons] = [5, 50];

export interface Tally {
  skip(fault: Fault, place: Place): void;
  unchecked(fault: Fault, place: Place): void;
  scored(scores: readonly Score[]): void;
  row(messages: readonly ChatMessage[], traits: RowTraits): void;
  redacted(counts: RedactedCounts): void;
  readonly skipped: () => readonly Skipped[];
  readonly facts: () => Pick<
    ImportReport,
    | 'roles'
    | 'withTools'
    | 'withScore'
    | 'scores'
    | 'assertions'
    | 'unchecked'
    | 'tokens'
    | 'redacted'
  >;
}

interface RowTraits {
  readonly tools: boolean;
  readonly score: boolean;
  /** Types of the row's assertions. */
  readonly assertions: readonly string[];
  /** Length of the row in tokens; undefined if no tokenizer was given. */
  readonly tokens?: number;
}

/** Maximum length of a quoted value in the report, in characters. */
const longestDetail = 80;

/**
 * Counts written rows and skipped records, in constant memory.
 * @param redacts true to redact personal data in quoted values
 */
export function createTally(redacts: boolean): Tally {
  const [skipped, unchecked] = [new Map<string, Skipped>(), new Map<string, Skipped>()];
  const roles: Record<string, number> = {};
  const scores = new Map<string, ScoreRange>();
  const assertions: Record<string, number> = {};
  const redacted: Partial<Record<RedactedKind, number>> = {};
  const lengths = new Map<number, number>();
  let [withTools, withScore] = [0, 0];
  /**
   * Redacts a quoted value before shortening it, because the patterns do not match a truncated
   * number.
   */
  const quote = (detail: string): string =>
    boundedText(redacts ? redactValue(detail).value : detail, longestDetail);
  const addTo = (
    list: Map<string, Skipped>,
    { reason: given, detail }: Fault,
    { file, line }: Place,
  ): void => {
    const reason = list.has(given) || list.size < mostReasons ? given : 'one of many other reasons';
    const { count, first } = list.get(reason) ?? { count: 0, first: [] };
    const place = {
      file,
      ...(line && { line }),
      ...(detail !== undefined && { detail: quote(detail) }),
    };
    const places = count < mostPlaces ? [...first, place] : first;
    list.set(reason, { reason, count: count + 1, first: places });
  };
  const sorted = (list: Map<string, Skipped>): readonly Skipped[] =>
    [...list.values()].toSorted((a, b) => b.count - a.count);
  return {
    skip: (fault, place) => addTo(skipped, fault, place),
    unchecked: (fault, place) => addTo(unchecked, fault, place),
    scored(given) {
      for (const { name: own, value } of given) {
        const name = scores.has(own) || scores.size < mostReasons ? own : 'others';
        const { count, least, most } = scores.get(name) ?? { count: 0, least: value, most: value };
        const [low, high] = [Math.min(least, value), Math.max(most, value)];
        scores.set(name, { count: count + 1, least: low, most: high });
      }
    },
    row(messages, { tools, score, tokens, assertions: types }) {
      for (const type of types) assertions[type] = (assertions[type] ?? 0) + 1;
      for (const { role } of messages) roles[role] = (roles[role] ?? 0) + 1;
      if (tools) withTools++;
      if (score) withScore++;
      if (tokens !== undefined) lengths.set(tokens, (lengths.get(tokens) ?? 0) + 1);
    },
    redacted(counts) {
      for (const [kind, count] of Object.entries(counts) as [RedactedKind, number][])
        redacted[kind] = (redacted[kind] ?? 0) + count;
    },
    skipped: () => sorted(skipped),
    facts: () => ({
      roles,
      withTools,
      withScore,
      ...(scores.size > 0 && { scores: Object.fromEntries(scores) }),
      ...(Object.keys(assertions).length > 0 && { assertions }),
      ...(unchecked.size > 0 && { unchecked: sorted(unchecked) }),
      ...(lengths.size > 0 && { tokens: lengthsOf(lengths) }),
      ...(redacts && { redacted }),
    }),
  };
}

/**
 * Computes statistics of the lengths of rows.
 * @param counts number of rows with each length
 */
function lengthsOf(counts: ReadonlyMap<number, number>): Lengths {
  const sorted = [...counts].sort(([a], [b]) => a - b);
  const rows = sorted.reduce((sum, [, count]) => sum + count, 0);
  const at = (share: number): number => {
    let before = 0;
    for (const [length, count] of sorted) {
      before += count;
      if (before >= share * rows) return length;
    }
    return 0;
  };
  return {
    least: at(0),
    median: at(0.5),
    percentile95: at(0.95),
    most: at(1),
    total: sorted.reduce((sum, [length, count]) => sum + length * count, 0),
  };
}
