/** The report of an import: counts of what it read, wrote and left out. */
import type { ChatMessage } from '@trinity-rft/core';
import type { Fault } from '../record/item.js';
import { redactValue, type RedactedCounts, type RedactedKind } from '../redact/redact.js';
import type { RowKind } from '../record/row-kind.js';

export interface Place {
  readonly file: string;
  /** Line, or number of the item in a JSON list; from 1. */
  readonly line: number;
}

export interface Skipped {
  readonly reason: string;
  readonly count: number;
  /** The first few. */
  readonly first: readonly (Place & { readonly detail?: string })[];
}

/** Tokens of a row in the chat template of the model. */
export interface Lengths {
  readonly least: number;
  readonly median: number;
  /** 95 % of the rows are at most as long. */
  readonly percentile95: number;
  readonly most: number;
  readonly total: number;
}

export interface ImportReport {
  /** Format of the report. */
  readonly version: 1;
  readonly sources: readonly string[];
  readonly as: RowKind;
  readonly files: number;
  /** Records: rows, spans, or tests. */
  readonly read: number;
  /** Rows, those for validation included. */
  readonly written: number;
  readonly validation: number;
  /** Rows that are equal to an earlier one, dropped. */
  readonly duplicates: number;
  readonly skipped: readonly Skipped[];
  /** Messages of the written rows. */
  readonly roles: Readonly<Record<string, number>>;
  readonly withTools: number;
  /** Rows whose answer has a score in the source. */
  readonly withScore: number;
  /** Assertions of tasks by their type; undefined where there are none. */
  readonly assertions?: Readonly<Record<string, number>>;
  /** Undefined without a tokenizer. */
  readonly tokens?: Lengths;
  /** Undefined unless asked for. */
  readonly redacted?: RedactedCounts;
}

/** Places that a report names for each reason, and reasons that it tells apart. */
const [mostPlaces, mostReasons] = [5, 50];

export interface Tally {
  skip(fault: Fault, place: Place): void;
  row(messages: readonly ChatMessage[], traits: RowTraits): void;
  redacted(counts: RedactedCounts): void;
  readonly skipped: () => readonly Skipped[];
  readonly facts: () => Pick<
    ImportReport,
    'roles' | 'withTools' | 'withScore' | 'assertions' | 'tokens' | 'redacted'
  >;
}

interface RowTraits {
  readonly tools: boolean;
  readonly score: boolean;
  /** Types of its assertions. */
  readonly assertions: readonly string[];
  /** Undefined without a tokenizer. */
  readonly tokens?: number;
}

/**
 * Counts while rows pass, in memory that does not grow with them.
 * @param redacts no personal data in the values that are quoted
 */
export function createTally(redacts: boolean): Tally {
  const skipped = new Map<string, Skipped>();
  const roles: Record<string, number> = {};
  const assertions: Record<string, number> = {};
  const redacted: Partial<Record<RedactedKind, number>> = {};
  const lengths = new Map<number, number>();
  let [withTools, withScore] = [0, 0];
  return {
    skip({ reason: given, detail }, { file, line }) {
      const reason =
        skipped.has(given) || skipped.size < mostReasons ? given : 'one of many other reasons';
      const { count, first } = skipped.get(reason) ?? { count: 0, first: [] };
      const shown = redacts ? redactValue(detail).value : detail;
      const place = { file, line, ...(shown !== undefined && { detail: shown }) };
      const places = count < mostPlaces ? [...first, place] : first;
      skipped.set(reason, { reason, count: count + 1, first: places });
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
    skipped: () => [...skipped.values()].toSorted((a, b) => b.count - a.count),
    facts: () => ({
      roles,
      withTools,
      withScore,
      ...(Object.keys(assertions).length > 0 && { assertions }),
      ...(lengths.size > 0 && { tokens: lengthsOf(lengths) }),
      ...(redacts && { redacted }),
    }),
  };
}

/** @param counts rows by their length */
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
