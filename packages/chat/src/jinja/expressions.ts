/** Compiles expressions to functions of the variables. */
import { attribute, dictKey, item, slice } from './access.js';
import { filterNamed } from './filters.js';
import { operators } from './operators.js';
import { lookUp, sizeOf, spend, type Scope } from './scope.js';
import { str } from './spelling.js';
import type { Call, Expression, Identifier, Member, Slice } from './syntax.js';
import { testNamed } from './tests.js';
import {
  Float,
  isDict,
  iterate,
  numeric,
  truthy,
  tuple,
  typeName,
  type Keywords,
  type Value,
} from './values.js';

export type Evaluate = (scope: Scope) => Value;

export type Apply = (value: Value, scope: Scope) => Value;

type Of<Type extends Expression['type']> = Extract<Expression, { readonly type: Type }>;

export function compileExpression(node: Expression): Evaluate {
  switch (node.type) {
    case 'Identifier':
      return (scope) => lookUp(scope, node.value);
    case 'StringLiteral':
    case 'IntegerLiteral':
      return () => node.value;
    case 'FloatLiteral': {
      const float = new Float(node.value);
      return () => float;
    }
    case 'ArrayLiteral':
    case 'TupleLiteral':
      return sequence(node);
    case 'ObjectLiteral':
      return dict(node);
    case 'MemberExpression':
      return member(node);
    case 'CallExpression':
      return call(node);
    case 'BinaryExpression':
      return binary(node);
    case 'UnaryExpression':
      return unary(node);
    case 'FilterExpression': {
      const [operand, apply] = [compileExpression(node.operand), compileFilter(node.filter)];
      return (scope) => apply(operand(scope), scope);
    }
    case 'TestExpression':
      return test(node);
    case 'Ternary':
      return choice(node.condition, node.trueExpr, node.falseExpr);
    case 'SelectExpression':
      return choice(node.test, node.lhs, undefined);
    case 'SliceExpression':
    case 'KeywordArgumentExpression':
    case 'SpreadExpression':
    case 'KeywordSpreadExpression':
      throw new Error(`${node.type} cannot stand here`);
  }
}

function choice(condition: Expression, yes: Expression, no: Expression | undefined): Evaluate {
  const [test, then] = [compileExpression(condition), compileExpression(yes)];
  const otherwise = no && compileExpression(no);
  return (scope) => (truthy(test(scope)) ? then(scope) : otherwise?.(scope));
}

function sequence({ type, value }: Of<'ArrayLiteral' | 'TupleLiteral'>): Evaluate {
  const items = value.map(compileExpression);
  return type === 'TupleLiteral'
    ? (scope) => tuple(items.map((each) => each(scope)))
    : (scope) => items.map((each) => each(scope));
}

function dict({ value }: Of<'ObjectLiteral'>): Evaluate {
  const entries = Array.from(
    value,
    ([key, each]) => [compileExpression(key), compileExpression(each)] as const,
  );
  return (scope) => new Map(entries.map(([key, each]) => [dictKey(key(scope)), each(scope)]));
}

function member(node: Member): Evaluate {
  const object = compileExpression(node.object);
  const of: Evaluate = (scope) => {
    const value = object(scope);
    if (value === undefined) throw new Error(`${print(node.object)} is undefined`);
    return value;
  };
  const { property } = node;
  if (property.type === 'SliceExpression') return sliced(of, property);
  if (!node.computed && property.type === 'Identifier')
    return (scope) => {
      const owner = of(scope);
      const found = attribute(owner, property.value);
      // Counts the steps for reading the owner, because the method reads the owner.
      if (typeof found === 'function') spend(scope, sizeOf(owner));
      return found;
    };
  const key = compileExpression(property);
  return (scope) => {
    const owner = of(scope);
    if (typeof owner === 'string') spend(scope, sizeOf(owner));
    return item(owner, key(scope));
  };
}

function sliced(object: Evaluate, { start, stop, step }: Slice): Evaluate {
  const bounds = [start, stop, step].map((each) => each && compileExpression(each));
  return (scope) => {
    const [from, to, by] = bounds.map((each) => each && numeric(each(scope)));
    const owner = object(scope);
    return spent(scope, slice(owner, from, to, by), [owner]);
  };
}

export interface Arguments {
  readonly positional: readonly Value[];
  readonly keywords: Keywords;
}

const noArguments: Arguments = { positional: [], keywords: new Map() };

export function compileArguments(nodes: readonly Expression[]): (scope: Scope) => Arguments {
  if (nodes.length === 0) return () => noArguments;
  const adders = nodes.map(compileArgument);
  return (scope) => {
    const positional: Value[] = [];
    const keywords = new Map<string, Value>();
    for (const add of adders) add(scope, positional, keywords);
    return { positional, keywords };
  };
}

type AddArgument = (scope: Scope, positional: Value[], keywords: Map<string, Value>) => void;

function compileArgument(node: Expression): AddArgument {
  if (node.type === 'KeywordArgumentExpression') {
    const value = compileExpression(node.value);
    return (scope, _, keywords) => void keywords.set(node.key.value, value(scope));
  }
  if (node.type !== 'SpreadExpression' && node.type !== 'KeywordSpreadExpression') {
    const value = compileExpression(node);
    return (scope, positional) => void positional.push(value(scope));
  }
  const value = compileExpression(node.argument);
  if (node.type === 'SpreadExpression')
    return (scope, positional) => void positional.push(...iterate(value(scope)));
  return (scope, _, keywords) => {
    const entries = value(scope);
    if (!isDict(entries)) throw new Error('** needs a dict');
    for (const [key, each] of entries) keywords.set(str(key), each);
  };
}

function call(node: Call): Evaluate {
  const [callee, args] = [compileExpression(node.callee), compileArguments(node.args)];
  return (scope) => {
    const called = callee(scope);
    if (typeof called !== 'function')
      throw new Error(`${print(node.callee)} is ${typeName(called)} and cannot be called`);
    const { positional, keywords } = args(scope);
    return spent(scope, called(positional, keywords), positional);
  };
}

/**
 * Filters whose running time does not depend on the length of the list to which they are applied.
 */
const constantTime: ReadonlySet<string> = new Set(['length', 'count', 'first', 'last']);

/**
 * Compiles a filter with its arguments. As in Jinja, an unknown filter name is only an error when
 * the filter is evaluated.
 */
export function compileFilter(node: Identifier | Call): Apply {
  const name = node.type === 'Identifier' ? node : node.callee;
  if (name.type !== 'Identifier') throw new Error('a filter is called by its name');
  const args = compileArguments(node.type === 'CallExpression' ? node.args : []);
  return (value, scope) => {
    const { positional, keywords } = args(scope);
    if (typeof value === 'string' || !constantTime.has(name.value)) spend(scope, sizeOf(value));
    return spent(scope, filterNamed(name.value)(value, positional, keywords), positional);
  };
}

function test({ operand, negate, test: { value: name } }: Of<'TestExpression'>): Evaluate {
  const value = compileExpression(operand);
  return (scope) => {
    const tested = value(scope);
    if (typeof tested === 'string') spend(scope, sizeOf(tested));
    return testNamed(name)(tested, []) !== negate;
  };
}

function binary(node: Of<'BinaryExpression'>): Evaluate {
  const [left, right] = [compileExpression(node.left), compileExpression(node.right)];
  const name = node.operator.value;
  if (name === 'and' || name === 'or') {
    return (scope) => {
      const value = left(scope);
      return truthy(value) === (name === 'and') ? right(scope) : value;
    };
  }
  const operator = operators[name];
  if (!operator) throw new Error(`there is no operator ${name}`);
  return (scope) => {
    const operands = [left(scope), right(scope)] as const;
    return spent(scope, operator(...operands), operands);
  };
}

/**
 * Charges the budget of the rendering for an operation, by the sizes of its operands and its
 * result. Returns the result.
 */
function spent(scope: Scope, result: Value, taken: readonly Value[]): Value {
  let steps = sizeOf(result);
  for (const value of taken) steps += sizeOf(value);
  spend(scope, steps);
  return result;
}

function unary({ operator, argument }: Of<'UnaryExpression'>): Evaluate {
  const value = compileExpression(argument);
  if (operator.value === 'not') return (scope) => !truthy(value(scope));
  const sign = operator.value === '-' ? -1 : 1;
  return (scope) => {
    const operand = value(scope);
    const number = numeric(operand);
    if (number === undefined) throw new Error(`${typeName(operand)} has no sign`);
    return operand instanceof Float ? new Float(sign * number) : sign * number;
  };
}

/** Returns the source text of an expression, for error messages. */
function print(node: Expression): string {
  if (node.type === 'Identifier') return node.value;
  if (node.type === 'StringLiteral') return `'${node.value}'`;
  if (node.type === 'IntegerLiteral') return `${node.value}`;
  if (node.type === 'CallExpression') return `${print(node.callee)}(...)`;
  if (node.type !== 'MemberExpression') return 'a value';
  const [object, property] = [print(node.object), print(node.property)];
  return node.computed ? `${object}[${property}]` : `${object}.${property}`;
}
