/** Compiles statements to functions that write text and set variables. */
import {
  compileArguments,
  compileExpression,
  compileFilter,
  type Evaluate,
} from './expressions.js';
import { forLoop } from './for-loop.js';
import { newScope, sizeOf, spend, type Execute, type Scope } from './scope.js';
import { str } from './spelling.js';
import {
  isExpression,
  type Body,
  type Expression,
  type Parameter,
  type Statement,
} from './syntax.js';
import {
  Attributes,
  iterate,
  truthy,
  tuple,
  type Callable,
  type Keywords,
  type Value,
} from './values.js';

type Of<Type extends Statement['type']> = Extract<Statement, { readonly type: Type }>;

export function compileBody(body: Body): Execute {
  const steps = body.map(compileStatement);
  return (scope, out) => {
    for (const step of steps) {
      const jump = step(scope, out);
      if (jump) return jump;
    }
    return undefined;
  };
}

function compileStatement(node: Statement): Execute {
  if (isExpression(node)) {
    const value = compileExpression(node);
    return (scope, out) => {
      const written = str(value(scope));
      spend(scope, sizeOf(written));
      out.push(written);
      return undefined;
    };
  }
  switch (node.type) {
    case 'Comment':
      return () => undefined;
    case 'Break':
      return () => 'break';
    case 'Continue':
      return () => 'continue';
    case 'If':
      return condition(node);
    case 'For':
      return forLoop(
        node,
        compileBody(node.body),
        compileBody(node.defaultBlock),
        compileTarget(node.loopvar),
      );
    case 'Set':
      return assignment(node);
    case 'Macro': {
      const define = macro(node.args, node.body);
      return (scope) => void scope.variables.set(node.name.value, define(scope));
    }
    case 'CallStatement':
      return callBlock(node);
    case 'FilterStatement': {
      const [block, apply] = [text(node.body), compileFilter(node.filter)];
      return (scope, out) => void out.push(str(apply(block(scope), scope)));
    }
  }
}

/** Returns a function that executes a block in its own scope, and returns the text. */
function text(body: Body): (scope: Scope) => string {
  const execute = compileBody(body);
  return (scope) => {
    const out: string[] = [];
    execute(newScope(scope), out);
    return out.join('');
  };
}

function condition({ test, body, alternate }: Of<'If'>): Execute {
  const holds = compileExpression(test);
  const [then, otherwise] = [compileBody(body), compileBody(alternate)];
  return (scope, out) => (truthy(holds(scope)) ? then : otherwise)(scope, out);
}

function assignment({ assignee, value, body }: Of<'Set'>): Execute {
  const assign = compileTarget(assignee);
  const evaluate: Evaluate = value ? compileExpression(value) : text(body);
  return (scope) => {
    assign(scope, evaluate(scope));
    return undefined;
  };
}

type Assign = (scope: Scope, value: Value) => void;

/**
 * Compiles the target of an assignment: a name, names in parentheses, or an attribute of a
 * namespace.
 */
function compileTarget(target: Expression): Assign {
  if (target.type === 'Identifier')
    return (scope, value) => void scope.variables.set(target.value, value);
  if (target.type === 'TupleLiteral') return unpacking(target.value.map(compileTarget));
  if (target.type !== 'MemberExpression' || target.property.type !== 'Identifier')
    throw new Error(`${target.type} cannot be assigned to`);
  const object = compileExpression(target.object);
  const name = target.property.value;
  return (scope, value) => {
    const owner = object(scope);
    if (!(owner instanceof Attributes)) throw new Error('only a namespace has attributes to set');
    owner.entries.set(name, value);
  };
}

function unpacking(parts: readonly Assign[]): Assign {
  return (scope, value) => {
    const items = iterate(value);
    if (items.length !== parts.length)
      throw new Error(`${items.length} values cannot be given to ${parts.length} names`);
    parts.forEach((assign, i) => assign(scope, items[i]));
  };
}

/**
 * Compiles a macro. As a closure, it can read the variables that are visible where it is defined.
 */
function macro(parameters: readonly Parameter[], body: Body): (scope: Scope) => Callable {
  const names = parameters.map((each) => (each.type === 'Identifier' ? each : each.key).value);
  const defaults = parameters.map((each) =>
    each.type === 'Identifier' ? undefined : compileExpression(each.value),
  );
  const execute = compileBody(body);
  return (outer) => (args, keywords) => {
    const scope = newScope(outer);
    const given = (name: string, i: number): boolean => i < args.length || keywords.has(name);
    names.forEach((name, i) =>
      scope.variables.set(name, i < args.length ? args[i] : keywords.get(name)),
    );
    names.forEach((name, i) => {
      if (!given(name, i)) scope.variables.set(name, defaults[i]?.(scope));
    });
    scope.variables.set('caller', keywords.get('caller'));
    scope.variables.set('varargs', tuple(args.slice(names.length)));
    scope.variables.set('kwargs', others(keywords, names));
    const out: string[] = [];
    execute(scope, out);
    return out.join('');
  };
}

const others = (keywords: Keywords, names: readonly string[]): Value =>
  new Map<Value, Value>([...keywords].filter(([key]) => !names.includes(key)));

function callBlock({ call, callerArgs, body }: Of<'CallStatement'>): Execute {
  const [callee, args] = [compileExpression(call.callee), compileArguments(call.args)];
  const caller = macro(callerArgs ?? [], body);
  return (scope, out) => {
    const called = callee(scope);
    if (typeof called !== 'function') throw new Error('a call block needs a macro');
    const { positional, keywords } = args(scope);
    out.push(str(called(positional, new Map([...keywords, ['caller', caller(scope)]]))));
    return undefined;
  };
}
