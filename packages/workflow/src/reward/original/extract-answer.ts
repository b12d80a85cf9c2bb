/** Port of `extract_answer` of Trinity-RFT's evaluation workflows (after Qwen2.5-Math). */
import { balancedEnd } from './boxed.js';
import { stripString } from './strip-string.js';

/**
 * Returns the answer in a response: the content of the last "boxed"; if there is none, the line
 * after "the answer is" or 答案是; both normalized by {@link stripString}. If there is neither, the
 * answer is the last number, without commas. Returns null if there is no answer, if the answer is
 * empty, or if the response is not a string. Takes linear time.
 */
export function extractAnswer(response: unknown): string | null {
  if (typeof response !== 'string') return null;
  const box = boxedPart(response);
  if (box !== undefined) return stripString(box);
  const announced = announcedPart(response);
  if (announced !== undefined) {
    const answer = stripString(announced);
    return answer?.endsWith('.') ? answer.slice(0, -1) : answer;
  }
  return lastNumber(response);
}

/**
 * Returns the content after the last "boxed", or undefined if there is none. Content whose brace is
 * not closed ends at a dollar sign or a closing brace.
 */
function boxedPart(text: string): string | undefined {
  const at = text.lastIndexOf('boxed');
  if (at < 0) return undefined;
  const rest = text.slice(at + 'boxed'.length);
  if (rest === '') return rest;
  const end = rest.startsWith('{') ? balancedEnd(rest, 0) : -1;
  return end > 0 ? rest.slice(1, end - 1) : /\{?([^$}]+)/.exec(rest)?.[1];
}

function announcedPart(text: string): string | undefined {
  for (const opening of [/(?:final|the)\s+answer\s+is/giu, /答案是/gu]) {
    for (const match of text.matchAll(opening)) {
      const part = lineAfter(text, match.index + match[0].length);
      if (part !== undefined) return part;
    }
  }
  return undefined;
}

const colon = /\s*:?\s*/y;

/**
 * Returns the line that follows white space, a colon and white space. If nothing follows, returns
 * the last of these characters that is not a line break.
 */
function lineAfter(text: string, from: number): string | undefined {
  colon.lastIndex = from;
  const skipped = colon.exec(text)?.[0] ?? '';
  const start = from + skipped.length;
  if (start < text.length) {
    const end = text.indexOf('\n', start);
    return text.slice(start, end < 0 ? text.length : end);
  }
  const [before = '', after] = skipped.split(':');
  if (/[^\n]/.test(after ?? before)) return '';
  return after === undefined ? undefined : ':';
}

function lastNumber(text: string): string | null {
  let last: string | null = null;
  for (const match of text.replaceAll(',', '').matchAll(/[-+]?\d*\.?\d+/g)) last = match[0];
  return last;
}
