/** Finds calls in a text, from marker to marker. */
import type { ParsedToolCall } from './types.js';

/** Result of trying to read calls at an index. */
export interface Attempt {
  readonly toolCalls?: readonly ParsedToolCall[];
  /** Number of calls that could not be parsed. @default 0 */
  readonly malformed?: number;
  /** Index at which the search continues. Markers before it are ignored. */
  readonly end: number;
}

interface Syntax {
  /** False for a text that is still growing. @default true */
  readonly isWhole?: boolean;
  /** Next index where a call may begin, or -1. */
  readonly find: (from: number) => number;
  /**
   * Reads the calls at an index. Returns undefined if the result depends on text that is still to
   * come.
   */
  readonly read: (at: number) => Attempt | undefined;
}

interface ScannedCalls {
  /** The text before, between and after the calls. */
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

/** Returns true if the text from `at` on is empty, or only the beginning of the mark. */
export const isCut = (text: string, at: number, mark: string): boolean =>
  text.length - at < mark.length && mark.startsWith(text.slice(at));

/**
 * Joins the text before, between and after calls, for syntaxes in which the white space around a
 * call belongs to the call. The text before the first call keeps its beginning, which may have been
 * sent already.
 */
export const textOutside = ([before = '', ...others]: readonly string[]): string =>
  [before.trimEnd(), ...others.map((piece) => piece.trim())]
    .filter((piece) => piece !== '')
    .join('\n');
