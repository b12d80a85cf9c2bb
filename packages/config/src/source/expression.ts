/** Parses text with interpolations `${...}`, which may be nested. */
import { ConfigError } from '@trinity-rft/core';

/** A piece of a string: literal text, a reference to another key, or a call of a resolver. */
type Part =
  | { readonly kind: 'text'; readonly text: string }
  /**
   * Reference such as `${model.temperature}` or `${.sibling}`. The path may contain interpolations.
   */
  | { readonly kind: 'reference'; readonly path: Expression }
  /** Call such as `${oc.env:HOME,/tmp}`. */
  | { readonly kind: 'call'; readonly resolver: string; readonly args: readonly Argument[] };

export type Expression = readonly Part[];

export interface Argument {
  readonly value: Expression;
  /** True for an argument in quotes: `'null'` is a string, `null` is null. */
  readonly quoted: boolean;
}

/**
 * Error for a problem in one string. The message is empty if the cause has already been reported.
 */
export class ExpressionProblem extends ConfigError {}

/** Returns true if a string needs {@link parseExpression}. */
export function hasInterpolation(text: string): boolean {
  return text.includes('${');
}

/**
 * Maximum nesting of interpolations. Limits the parsing time, because each level parses its text
 * again.
 */
const maxDepth = 16;

/**
 * Splits a string into parts. `\${` stands for a literal `${`.
 * @throws ExpressionProblem if the string is malformed, or if its interpolations are nested too
 * deeply
 */
export function parseExpression(text: string, depth = 0): Expression {
  if (depth > maxDepth)
    throw new ExpressionProblem(
      `Interpolations are nested more than ${maxDepth} levels deep here. Give an inner one a key of its own and refer to that.`,
    );
  const parts: Part[] = [];
  let literal = '';
  for (let index = 0; index < text.length;) {
    if (text.startsWith('\\${', index)) {
      literal += '${';
      index += 3;
    } else if (text.startsWith('${', index)) {
      if (literal !== '') parts.push({ kind: 'text', text: literal });
      literal = '';
      const end = closingBrace(text, index + 2);
      parts.push(parseInner(text.slice(index + 2, end), depth + 1));
      index = end + 1;
    } else {
      literal += text[index];
      index += 1;
    }
  }
  if (literal !== '' || parts.length === 0) parts.push({ kind: 'text', text: literal });
  return parts;
}

/** Returns the index of the `}` that closes the interpolation whose content starts at `start`. */
function closingBrace(text: string, start: number): number {
  let depth = 1;
  let quote = '';
  for (let index = start; index < text.length; index++) {
    const character = text[index] ?? '';
    if (character === '\\') index += 1;
    else if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === "'" || character === '"') quote = character;
    else if (character === '{') depth += 1;
    else if (character === '}' && --depth === 0) return index;
  }
  throw new ExpressionProblem(
    `"\${${shortened(text.slice(start))}" is not closed. Add "}", or write "\\\${" for a literal "\${".`,
  );
}

const shortened = (text: string): string => (text.length > 80 ? `${text.slice(0, 80)}...` : text);

function parseInner(content: string, depth: number): Part {
  const call = /^\s*([A-Za-z_][\w.]*)\s*:/.exec(content);
  if (call !== null)
    return {
      kind: 'call',
      resolver: call[1] ?? '',
      args: splitArguments(content.slice(call[0].length)).map((text) => parseArgument(text, depth)),
    };
  if (content.trim() === '')
    throw new ExpressionProblem(
      '"${}" is empty. Write the path of a key, as in "${model.temperature}".',
    );
  return { kind: 'reference', path: parseExpression(content.trim(), depth) };
}

/** Splits at commas outside quotes and brackets. */
function splitArguments(text: string): readonly string[] {
  if (text.trim() === '') return [];
  const args: string[] = [];
  let depth = 0;
  let quote = '';
  let start = 0;
  for (let index = 0; index < text.length; index++) {
    const character = text[index] ?? '';
    if (character === '\\') index += 1;
    else if (quote !== '') quote = character === quote ? '' : quote;
    else if (character === "'" || character === '"') quote = character;
    else if ('{[('.includes(character)) depth += 1;
    else if ('}])'.includes(character)) depth -= 1;
    else if (character === ',' && depth === 0) {
      args.push(text.slice(start, index));
      start = index + 1;
    }
  }
  return [...args, text.slice(start)];
}

function parseArgument(text: string, depth: number): Argument {
  const trimmed = text.trim();
  const quote = trimmed[0];
  const quoted = (quote === "'" || quote === '"') && trimmed.length >= 2 && trimmed.endsWith(quote);
  const inner = quoted
    ? trimmed.slice(1, -1).replaceAll(`\\${quote}`, quote)
    : trimmed.replaceAll(/\\([,:{}[\]()\s\\])/g, '$1');
  return { value: parseExpression(inner, depth), quoted };
}
