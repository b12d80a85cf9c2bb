/**
 * The box of an answer, and Trinity-RFT's comparison of boxes: `last_boxed_only_string`,
 * `is_equiv`, `compute_score_v0`.
 */
import { stripString } from './strip-string.js';

/**
 * `last_boxed_only_string`: with its command. If the text contains `\boxed ` (with a blank), the
 * last one up to a dollar; else the last `\boxed`, or without any `\fbox`, with
 * balanced braces. Null when there is none or it is not closed.
 */
export function lastBoxedOnlyString(text: string): string | null {
  const blank = text.lastIndexOf('\\boxed ');
  if (blank >= 0) return text.slice(blank).split('$', 1)[0] ?? '';
  const boxed = text.lastIndexOf('\\boxed');
  const start = boxed >= 0 ? boxed : text.lastIndexOf('\\fbox');
  const end = start < 0 ? -1 : balancedEnd(text, start);
  return end < 0 ? null : text.slice(start, end);
}

/** The place after the brace that closes the first one at or after `from`; -1 without one. */
export function balancedEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{') depth++;
    else if (text[at] === '}' && --depth === 0) return at + 1;
  }
  return -1;
}

/** The content of what {@link lastBoxedOnlyString} returns; undefined for an `\fbox`. */
function contentOf(box: string): string | undefined {
  if (box.startsWith('\\boxed ')) return box.slice('\\boxed '.length);
  return box.startsWith('\\boxed{') && box.endsWith('}')
    ? box.slice('\\boxed{'.length, -1)
    : undefined;
}

/** `is_equiv`: equal texts after {@link stripString}; two nulls are equal, one is not. */
export function isEquiv(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return a === b;
  return stripString(a) === stripString(b);
}

/**
 * `compute_score_v0` of `math_boxed_reward`: 1 when the last box of `solution` is, as text, the
 * truth or its last box; else 0.
 */
export function computeScoreV0(solution: string, truth: string): number {
  const box = lastBoxedOnlyString(solution);
  const truthBox = lastBoxedOnlyString(truth);
  if (box === null) return 0;
  const answer = contentOf(box);
  const expected = truthBox === null ? truth : contentOf(truthBox);
  return answer !== undefined && expected !== undefined && isEquiv(answer, expected) ? 1 : 0;
}
