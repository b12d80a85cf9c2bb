/**
 * Converts LaTeX in answers to plain text, in the spelling that Trinity-RFT's DAPO grader expects.
 */
import { balancedEnd } from './boxed.js';
import { boldLetter, latexEscapes, latexSigns } from './latex-signs.js';

/** Maximum nesting depth of LaTeX. Parts that are nested more deeply are dropped. */
const maxDepth = 50;

/**
 * Converts LaTeX to text. `\frac{a}{b}` becomes `a/b`, `\sqrt{a}` becomes `sqrt(a)`, and a matrix
 * becomes `[ 1 2; 3 4 ]`. Commands for signs become the signs. Braces, fonts and surrounding white
 * space are dropped.
 */
export function latexToText(latex: string): string {
  return convert(
    latex
      .replaceAll('\\tfrac', '\\frac')
      .replaceAll('\\dfrac', '\\frac')
      .replaceAll('\\frac', ' \\frac'),
    0,
  ).trim();
}

/** Text of a converted part, and the index at which the next part begins. */
interface Part {
  readonly content: string;
  readonly end: number;
}

function convert(latex: string, depth: number): string {
  if (depth > maxDepth) return '';
  let text = '';
  const token = /\\([A-Za-z]+)[ \t]*\n?[ \t]*|\\([^A-Za-z])|([^\\])/suy;
  for (let match = token.exec(latex); match; match = token.exec(latex)) {
    const [, name = '', escaped, plain] = match;
    if (plain !== undefined) text += plainSigns.get(plain) ?? plain;
    else if (escaped !== undefined) text += latexEscapes.get(escaped) ?? '';
    else {
      const { content, end } = command(latex, name, token.lastIndex, depth + 1);
      text += content;
      token.lastIndex = end;
    }
  }
  return text;
}

const plainSigns: ReadonlyMap<string, string> = new Map([
  ['{', ''],
  ['}', ''],
  ['~', ' '],
  ['&', '   '],
]);

/**
 * Converts a command to text.
 * @param from index after the command's name
 */
function command(latex: string, name: string, from: number, depth: number): Part {
  if (name === 'begin') return environment(latex, from, depth);
  if (!['sqrt', 'frac', 'mbox', 'mathbf'].includes(name))
    return { content: latexSigns.get(name) ?? '', end: from };
  const first = argument(latex, from);
  if (name === 'mbox') return { content: '', end: first.end };
  const inner = convert(first.content, depth);
  if (name === 'sqrt') return { content: `sqrt(${inner})`, end: first.end };
  if (name === 'mathbf') return { content: inner.replace(/[A-Za-z]/g, boldLetter), end: first.end };
  const second = argument(latex, first.end);
  return { content: `${inner}/${convert(second.content, depth)}`, end: second.end };
}

/** Converts a matrix or an array to text in brackets, and other environments to their content. */
function environment(latex: string, from: number, depth: number): Part {
  const name = argument(latex, from);
  const start = name.content === 'array' ? argument(latex, name.end).end : name.end;
  const close = latex.indexOf(`\\end{${name.content}}`, start);
  if (close < 0) return { content: '', end: start };
  const inner = latex.slice(start, close);
  const end = close + `\\end{${name.content}}`.length;
  if (!/^(?:[pb](?:small)?matrix|array)$/.test(name.content))
    return { content: convert(inner, depth), end };
  const rows = inner
    .split('\\\\')
    .map((row) => row.split('&').map((cell) => convert(cell, depth).trim()));
  const width = Math.max(...rows.flat().map((cell) => cell.length));
  return {
    content: `[ ${rows.map((row) => row.map((cell) => cell.padStart(width)).join(' ')).join('; ')} ]`,
    end,
  };
}

/**
 * Consumes an argument: the content of braces, or a single character or command. Skips an optional
 * argument in brackets that precedes it.
 */
function argument(latex: string, from: number): Part {
  const skipped = /\s*(?:\[[^\]]*\])?\s*/y;
  skipped.lastIndex = from;
  skipped.exec(latex);
  const start = skipped.lastIndex;
  if (latex[start] === '{') {
    const end = balancedEnd(latex, start);
    return end < 0
      ? { content: latex.slice(start + 1), end: latex.length }
      : { content: latex.slice(start + 1, end - 1), end };
  }
  const single = /\\[A-Za-z]+|[^]|$/y;
  single.lastIndex = start;
  const content = single.exec(latex)?.[0] ?? '';
  return { content, end: start + content.length };
}
