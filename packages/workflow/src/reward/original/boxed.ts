/**
 * Extracts and compares the contents of `\boxed{}`, like Trinity-RFT's `last_boxed_only_string`,
 * `is_equiv` and `compute_score_v0`.
 */
import { stripString } from './strip-string.js';

/**
 * Port of `last_boxed_only_string`: returns the last `\boxed{}`, including the command. If the text
 * contains `\boxed ` (with a space), returns the text from the last one of these up to a dollar
 * sign. Otherwise returns the last `\boxed` with balanced braces, or the last `\fbox` if there is
 * no `\boxed`. Returns null if there is neither, or if its brace is not closed.
 */
export function lastBoxedOnlyString(text: string): string | null {
  const blank = text.lastIndexOf('\\boxed ');
  if (blank >= 0) return text.slice(blank).split('$', 1)[0] ?? '';
  const boxed = text.lastIndexOf('\\boxed');
  const start = boxed >= 0 ? boxed : text.lastIndexOf('\\fbox');
  const end = start < 0 ? -1 : balancedEnd(text, start);
  return end < 0 ? null : text.slice(start, end);
}

/**
 * Returns the index after the brace that closes the first open brace at or after `from`, or -1 if
 * there is none.
 */
export function balancedEnd(text: string, from: number): number {
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    if (text[at] === '{') depth++;
    else if (text[at] === '}' && --depth === 0) return at + 1;
  }
  return -1;
}

/**
 * Returns the content of a result of {@link lastBoxedOnlyString}. Returns undefined for an `\fbox`.
 */
function contentOf(box: string): string | undefined {
  if (box.startsWith('\\boxed ')) return box.slice('\\boxed '.length);
  return box.startsWith('\\boxed{') && box.endsWith('}')
    ? box.slice('\\boxed{'.length, -1)
    : undefined;
}

/**
 * Port of `is_equiv`: returns true for texts that are equal after {@link stripString}, and for two
 * nulls.
 */
export function isEquiv(a: string | null, b: string | null): boolean {
  if (a === null || b === null) return a === b;
  return stripString(a) === stripString(b);
}

/**
 * Port of `compute_score_v0` of `math_boxed_reward`: compares the content of the last `\boxed{}` in
 * `solution` with that of the last one in `truth`, or with all of `truth` if it has none. Returns 1
 * if they are equal by {@link isEquiv}, else 0.
 */
export function computeScoreV0(solution: string, truth: string): number {
  const box = lastBoxedOnlyString(solution);
  const truthBox = lastBoxedOnlyString(truth);
  if (box === null) return 0;
  const answer = contentOf(box);
  const expected = truthBox === null ? truth : contentOf(truthBox);
  return answer !== undefined && expected !== undefined && isEquiv(answer, expected) ? 1 : 0;
}
