/** The layout of RLCR: thought, answer, analysis, confidence. */
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
 * Answer and confidence of a response that ends with the four parts in order, with nothing but
 * white space between and behind them; before them may stand other parts, none in another.
 * Undefined when it does not, or the confidence is no number in [0, 1].
 */
export function readRlcrLayout(
  response: string,
): { readonly answer: string; readonly confidence: number } | undefined {
  const tags = [...response.matchAll(tagPattern)];
  if (!areClosed(tags.map(([tag]) => tag))) return undefined;
  const last = tags.slice(-chain.length);
  if (last.length < chain.length || last.some(([tag], index) => tag !== chain[index]))
    return undefined;
  const after = (index: number): string =>
    response.slice(
      last[index]!.index + last[index]![0].length,
      last[index + 1]?.index ?? response.length,
    );
  if ([1, 3, 5, 7].some((index) => after(index).trim() !== '')) return undefined;
  const confidence = probability(after(6));
  return confidence === undefined ? undefined : { answer: after(2), confidence };
}

/** Every part is closed before the next one opens. */
const areClosed = (tags: readonly string[]): boolean =>
  tags.length % 2 === 0 &&
  tags.every((tag, index) =>
    index % 2 === 0 ? !tag.startsWith('</') : tag === tags[index - 1]!.replace('<', '</'),
  );

/**
 * The confidence between the last tags of it, whatever the rest of the response is like; undefined
 * when it is no number in [0, 1].
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
