/** Parses the layout of RLCR, which consists of thought, answer, analysis and confidence. */
import { pythonFloat } from '../../original/python.js';

const chain = [
  '<think>',
  '</think>',
  '<answer>',
  '</answer>',
  '<analysis>',
  '</analysis>',
  '<confidence>',
  '</confidence>',
];
const tagPattern = /<\/?(?:think|answer|analysis|confidence)>/g;

/**
 * Returns the answer and the confidence of a response that ends with the four tagged parts, in
 * order. Only white space may be between and after them. Other text may precede them. No part may
 * contain another. Returns undefined if the layout differs, or if the confidence is not a number in
 * [0, 1].
 */
export function readRlcrLayout(
  response: string,
): { readonly answer: string; readonly confidence: number } | undefined {
  const tags = [...response.matchAll(tagPattern)];
  if (!areClosed(tags.map(([tag]) => tag))) return undefined;
  const last = tags.slice(-chain.length);
  if (last.length < chain.length || last.some(([tag], index) => tag !== chain[index]))
    return undefined;
  /** Text after each of the last tags, up to the next tag. */
  const after = last.map(({ 0: tag, index }, i) =>
    response.slice(index + tag.length, last[i + 1]?.index),
  );
  if (after.some((text, i) => i % 2 === 1 && text.trim() !== '')) return undefined;
  const [, , answer = '', , , , confidenceText = ''] = after;
  const confidence = probability(confidenceText);
  return confidence === undefined ? undefined : { answer, confidence };
}

/** Returns true if every part is closed before the next one opens. */
const areClosed = (tags: readonly string[]): boolean =>
  tags.length % 2 === 0 &&
  tags.every((tag, index) =>
    index % 2 === 0 ? !tag.startsWith('</') : tag === tags[index - 1]?.replace('<', '</'),
  );

/**
 * Returns the confidence between the last `<confidence>` and the last `</confidence>`, even if the
 * rest of the layout is wrong. Returns undefined if it is not a number in [0, 1].
 */
export function readConfidence(response: string): number | undefined {
  const open = response.lastIndexOf('<confidence>');
  const close = response.lastIndexOf('</confidence>');
  if (open < 0 || close < open) return undefined;
  return probability(response.slice(open + '<confidence>'.length, close));
}

function probability(text: string): number | undefined {
  const value = pythonFloat(text);
  return value !== undefined && value >= 0 && value <= 1 ? value : undefined;
}
