/**
 * Normalizes answers as for the data set MATH of Hendrycks et al. This is the first of two
 * spellings that Trinity-RFT's DAPO grader compares.
 */
import { fixFractions } from './strip-string.js';

/**
 * Normalizes an answer from MATH, so that equal answers usually become equal strings. Text with
 * LaTeX that cannot be parsed is returned unchanged.
 */
export function mathdNormalize(answer: string): string {
  const trimmed = answer.trim();
  const text = /^\\text\{(.+)\}$/.exec(trimmed)?.[1]?.trim() ?? trimmed;
  // A unit in \text{ ..} ends the answer. An answer with two such units is unchanged.
  const [amount = '', ...units] = withoutStyle(text).split('\\text{ ');
  if (units.length > 1) return text;
  const plain = amount
    .replaceAll('\\%', '')
    .replaceAll(' .', ' 0.')
    .replaceAll('{.', '{0.')
    .replace(/^\./, '0.');
  const [name = '', side, ...more] = plain.split('=');
  const value = side !== undefined && more.length === 0 && name.length <= 2 ? side : plain;
  if (value.endsWith('\\sqrt')) return text;
  const repaired = fixFractions(value.replace(/\\sqrt([^{])/g, '\\sqrt{$1}').replaceAll(' ', ''));
  if (repaired === '0.5') return '\\frac{1}{2}';
  const [, above, below] = /^(0|-?[1-9]\d*)\/(0|-?[1-9]\d*)$/.exec(repaired) ?? [];
  return above === undefined ? repaired : `\\frac{${above}}{${below}}`;
}

function withoutStyle(text: string): string {
  return text
    .replaceAll('\n', '')
    .replaceAll('\\!', '')
    .replaceAll('\\\\', '\\')
    .replaceAll('tfrac', 'frac')
    .replaceAll('dfrac', 'frac')
    .replaceAll('\\left', '')
    .replaceAll('\\right', '')
    .replaceAll('^{\\circ}', '')
    .replaceAll('^\\circ', '')
    .replaceAll('\\$', '');
}
