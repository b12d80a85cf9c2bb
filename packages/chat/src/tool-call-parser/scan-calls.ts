/** Finds tool calls in a text, by searching for markers. */
import type { ParsedToolCall } from './types.js';

/** Result of trying to read calls at an index. */
export interface Attempt {
  readonly toolCalls?: readonly ParsedToolCall[];
  /** Number of calls that could not be parsed. @default 0 */
  readonly malformed?: number;
  /** Index at which the search for the next call begins. */
  readonly end: number;
}

interface Syntax {
  /** False for a text that is still growing. @default true */
  readonly isWhole?: boolean;
  /** Returns the next index from `from` on where a call may begin, or -1. */
  readonly find: (from: number) => number;
  /**
   * Reads the calls that begin at an index. Returns undefined if the text must grow before the
   * result is certain.
   */
  readonly read: (at: number) => Attempt | undefined;
}

interface ScannedCalls {
  /** The texts before, between and after the calls. */
  readonly pieces: readonly string[];
  readonly toolCalls: readonly ParsedToolCall[];
  readonly malformed: number;
  readonly settled: number | undefined;
}

export function scanCalls(text: string, { isWhole = true, find, read }: Syntax): ScannedCalls {
  const pieces: string[] = [];
  const toolCalls: ParsedToolCall[] = [];
  let [malformed, from, settled] = [0, 0, 0];
  for (let at = find(0); at >= 0; at = find(settled)) {
    const attempt = read(at);
    if (!attempt) break;
    settled = attempt.end;
    malformed += attempt.malformed ?? 0;
    if (!attempt.toolCalls?.length) continue;
    for (const call of attempt.toolCalls) toolCalls.push(call);
    pieces.push(text.slice(from, at));
    from = settled;
  }
  pieces.push(text.slice(from));
  return { pieces, toolCalls, malformed, settled: isWhole ? undefined : settled };
}

/** Returns true if the text ends at `at`, or if its rest is an incomplete `mark`. */
export const isCut = (text: string, at: number, mark: string): boolean =>
  text.length - at < mark.length && mark.startsWith(text.slice(at));

/**
 * Joins the texts before, between and after calls by line breaks, without the white space around
 * calls, which belongs to the call syntax. White space at the beginning of the first text is kept,
 * because it may already have been sent to the client.
 */
export const textOutside = ([before = '', ...others]: readonly string[]): string =>
  [before.trimEnd(), ...others.map((piece) => piece.trim())]
    .filter((piece) => piece !== '')
    .join('\n');
