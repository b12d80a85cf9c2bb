/** LaTeX as plain text, the little of it that answers hold, in the spelling that Trinity-RFT's DAPO grader continues with. */
import { balancedEnd } from './boxed.js';

/** Commands without arguments; unknown ones vanish. */
const signs: Readonly<Record<string, string>> = {
  pi: 'pi',
  infty: 'inf',
  cup: 'U',
  cdot: '*',
  times: '*',
  div: '÷',
  pm: '±',
  le: '≤',
  leq: '≤',
  ge: '≥',
  geq: '≥',
  ne: '≠',
  neq: '≠',
  in: '∈',
  ldots: '…',
  dots: '…',
  circ: '∘',
  alpha: 'α',
  beta: 'β',
  theta: 'θ',
  sin: 'sin',
  cos: 'cos',
  tan: 'tan',
  log: 'log',
  ln: 'ln',
};

/** Deeper nesting is dropped. */
const maxDepth = 50;

/** `\frac{a}{b}` is `a/b`, `\sqrt{a}` is `sqrt(a)`, braces and fonts go, signs are letters. Blanks around the whole go. */
export function latexToText(latex: string): string {
  return convert(latex.replaceAll('\\tfrac', '\\frac').replaceAll('\\dfrac', '\\frac').replaceAll('\\frac', ' \\frac'), 0).trim();
}

function convert(latex: string, depth: number): string {
  if (depth > maxDepth) return '';
  let text = '';
  const token = /\\([A-Za-z]+)[ \t]*|\\([^A-Za-z])|([^\\])/suy;
  for (let match = token.exec(latex); match; match = token.exec(latex)) {
    const [, name, escaped, plain] = match;
    if (plain !== undefined) text += plain === '{' || plain === '}' ? '' : plain;
    else if (escaped !== undefined) text += '{}%$&#_ '.includes(escaped) ? escaped : '';
    else if (name === 'sqrt' || name === 'frac') {
      const first = argument(latex, token.lastIndex);
      const second = name === 'frac' ? argument(latex, first.end) : undefined;
      const inner = convert(first.content, depth + 1);
      text += second ? `${inner}/${convert(second.content, depth + 1)}` : `sqrt(${inner})`;
      token.lastIndex = (second ?? first).end;
    } else text += signs[name!] ?? '';
  }
  return text;
}

/** An argument: what is in braces, an optional one in brackets before it left out, or one character or command. */
function argument(latex: string, from: number): { readonly content: string; readonly end: number } {
  const skipped = /\s*(?:\[[^\]]*\])?\s*/y;
  skipped.lastIndex = from;
  skipped.exec(latex);
  const start = skipped.lastIndex;
  if (latex[start] === '{') {
    const end = balancedEnd(latex, start);
    return end < 0 ? { content: latex.slice(start + 1), end: latex.length } : { content: latex.slice(start + 1, end - 1), end };
  }
  const single = /\\[A-Za-z]+|[^]|$/y;
  single.lastIndex = start;
  const content = single.exec(latex)?.[0] ?? '';
  return { content, end: start + content.length };
}
