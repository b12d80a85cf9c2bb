/** The syntax tree of a template, as the library `@huggingface/jinja` produces it. */
import { parse, tokenize } from '@huggingface/jinja';
import { boundedText } from '@trinity-rft/core/support';
import { refuseChains } from './chains.js';

export type Statement =
  | {
      readonly type: 'If';
      readonly test: Expression;
      readonly body: Body;
      readonly alternate: Body;
    }
  | {
      readonly type: 'For';
      readonly loopvar: Expression;
      readonly iterable: Expression;
      readonly body: Body;
      readonly defaultBlock: Body;
    }
  | { readonly type: 'Break' | 'Continue' | 'Comment' }
  | {
      readonly type: 'Set';
      readonly assignee: Expression;
      readonly value: Expression | null;
      readonly body: Body;
    }
  | {
      readonly type: 'Macro';
      readonly name: Identifier;
      readonly args: readonly Parameter[];
      readonly body: Body;
    }
  | {
      readonly type: 'CallStatement';
      readonly call: Call;
      readonly callerArgs: readonly Parameter[] | null;
      readonly body: Body;
    }
  | { readonly type: 'FilterStatement'; readonly filter: Identifier | Call; readonly body: Body }
  | Expression;

export type Body = readonly Statement[];

export interface Identifier {
  readonly type: 'Identifier';
  readonly value: string;
}

export interface Call {
  readonly type: 'CallExpression';
  readonly callee: Expression;
  readonly args: readonly Expression[];
}

interface Keyword {
  readonly type: 'KeywordArgumentExpression';
  readonly key: Identifier;
  readonly value: Expression;
}

export type Parameter = Identifier | Keyword;

export interface Member {
  readonly type: 'MemberExpression';
  readonly object: Expression;
  readonly property: Expression;
  readonly computed: boolean;
}

export interface Slice {
  readonly type: 'SliceExpression';
  readonly start?: Expression;
  readonly stop?: Expression;
  readonly step?: Expression;
}

export type Expression =
  | Identifier
  | Call
  | Keyword
  | Member
  | Slice
  | { readonly type: 'IntegerLiteral' | 'FloatLiteral'; readonly value: number }
  | { readonly type: 'StringLiteral'; readonly value: string }
  | { readonly type: 'ArrayLiteral' | 'TupleLiteral'; readonly value: readonly Expression[] }
  | { readonly type: 'ObjectLiteral'; readonly value: ReadonlyMap<Expression, Expression> }
  | {
      readonly type: 'BinaryExpression';
      readonly operator: { readonly value: string };
      readonly left: Expression;
      readonly right: Expression;
    }
  | {
      readonly type: 'UnaryExpression';
      readonly operator: { readonly value: string };
      readonly argument: Expression;
    }
  | {
      readonly type: 'FilterExpression';
      readonly operand: Expression;
      readonly filter: Identifier | Call;
    }
  | {
      readonly type: 'TestExpression';
      readonly operand: Expression;
      readonly negate: boolean;
      readonly test: Identifier;
    }
  | {
      readonly type: 'Ternary';
      readonly condition: Expression;
      readonly trueExpr: Expression;
      readonly falseExpr: Expression;
    }
  /** The expression `a if b` without `else`. */
  | { readonly type: 'SelectExpression'; readonly lhs: Expression; readonly test: Expression }
  | {
      readonly type: 'SpreadExpression' | 'KeywordSpreadExpression';
      readonly argument: Expression;
    };

const statements: ReadonlySet<string> = new Set([
  'If',
  'For',
  'Break',
  'Continue',
  'Comment',
  'Set',
  'Macro',
  'CallStatement',
  'FilterStatement',
] satisfies readonly Statement['type'][]);

export const isExpression = (node: Statement): node is Expression => !statements.has(node.type);

/**
 * Matches 1000 white-space characters in a row, which templates may not contain: the parsing time
 * of the library is quadratic in the length of such a run.
 */
const longestSpace = /\s{1000}/;

/**
 * Matches comments, and tags, whose strings may contain the end of a tag. The length is bounded, so
 * that matching takes linear time.
 */
const tagOrComment =
  /\{#[^]*?#\}|\{[{%](?:"(?:[^"\\]|\\[^])*"|'(?:[^'\\]|\\[^])*'|[^"']){0,10000}?[%}]\}/g;

type Tokens = ReturnType<typeof tokenize>;

/**
 * Returns the error for a template that the library does not parse. It names the tag at which the
 * parser stopped, because errors and tokens of the library have no position.
 */
function refusalOf(source: string, tokens: Tokens, cause: unknown): Error {
  let last = 0;
  const watched = new Proxy(tokens, {
    get: (list, key) => {
      if (/^\d+$/.test(String(key))) last = Math.max(last, Number(key));
      return Reflect.get(list, key) as unknown;
    },
  });
  try {
    parse(watched);
  } catch {
    // It is the error of the caller.
  }
  const count = tokens
    .slice(0, last + 1)
    .filter(({ type }: { readonly type: string }) =>
      /^Open(?:Statement|Expression)$/.test(type),
    ).length;
  const tags = [...source.matchAll(tagOrComment)].filter(([text]) => !text.startsWith('{#'));
  const tag = last < tokens.length ? tags[count - 1] : undefined;
  if (tag === undefined) return new Error('a block is still open at the end');
  const lines = source.slice(0, tag.index).split('\n');
  const place = `line ${lines.length}, column ${lines.at(-1)!.length + 1}, ${boundedText(tag[0], 80)}`;
  return new Error(`${place}: ${(cause as Error).message}`, { cause });
}

/**
 * Parses a template.
 * @throws Error for a syntax error, a chain of comparisons, or too much white space
 */
export function parseTemplate(source: string): Body {
  if (longestSpace.test(source))
    throw new Error('it has 1000 characters of white space in a row. Remove them');
  const tokens = tokenize(source, { lstrip_blocks: true, trim_blocks: true });
  refuseChains(tokens);
  try {
    return parse(tokens).body as unknown as Body;
  } catch (cause) {
    throw refusalOf(source, tokens, cause);
  }
}
