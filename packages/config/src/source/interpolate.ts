/** Replaces every `${...}` of a tree with its value. */
import { didYouMean } from '@trinity-rft/core/support';
import { isSecretKey } from './secrets.js';
import {
  ExpressionProblem,
  hasInterpolation,
  parseExpression,
  type Argument,
  type Expression,
} from './expression.js';
import {
  childOf,
  fromPlain,
  showPath,
  transplant,
  visit,
  type KeyPath,
  type MapNode,
  type Node,
  type Scalar,
  type ScalarNode,
} from './node.js';
import { parseValue } from './parse.js';
import type { LocatedProblem } from './problem.js';

export interface InterpolationContext {
  readonly env: Readonly<Record<string, string | undefined>>;
  /** Returns the default of a key that the file does not set, or undefined for an unknown key. */
  readonly defaultAt: (path: KeyPath) => { readonly value: unknown } | undefined;
}

export interface InterpolatedTree {
  readonly root: MapNode;
  readonly problems: readonly LocatedProblem[];
  /** Paths without a value because of a problem. */
  readonly failed: readonly KeyPath[];
  /** Texts of variables and keys with the names of secrets that interpolations have read. */
  readonly secrets: ReadonlySet<string>;
}

/** Maximum number of keys in a chain of references. A longer chain would overflow the stack. */
const maxChain = 200;

/**
 * Maximum number of characters that all interpolations of a file produce together. Each copied node
 * counts as ten characters.
 */
const maxMade = 1_000_000;

/**
 * Matches numbers that keep their written form inside a longer string, such as the version `1.10`.
 * Other forms are written as JavaScript does: `1.0e-5` as `0.00001`, `0x10` as `16`.
 */
const plainDecimal = /^-?\d+(?:\.\d+)?$/;

const resolverNames = ['oc.env', 'oc.decode', 'oc.select', 'oc.create'];

/** Resolves all interpolations. Reports and removes invalid values. */
export function interpolate(root: MapNode, context: InterpolationContext): InterpolatedTree {
  const interpolator = new Interpolator(root, context);
  const resolved = interpolator.resolve(root);
  return {
    root: resolved?.kind === 'map' ? resolved : root,
    problems: interpolator.problems,
    failed: interpolator.failed,
    secrets: interpolator.secrets,
  };
}

/** The value of an expression; `secret` is true if the value must not be shown. */
interface Found extends Pick<ScalarNode, 'source'> {
  readonly value: Node | Scalar;
  readonly secret: boolean;
}

class Interpolator {
  readonly problems: LocatedProblem[] = [];
  readonly failed: KeyPath[] = [];
  readonly secrets = new Set<string>();
  readonly #root: MapNode;
  readonly #context: InterpolationContext;
  readonly #done = new Map<Node, Node | undefined>();
  /** Nodes that are being resolved, outermost first. A node that is reached again shows a cycle. */
  readonly #open: Node[] = [];
  #made = 0;

  constructor(root: MapNode, context: InterpolationContext) {
    this.#root = root;
    this.#context = context;
  }

  /**
   * Returns the node with its interpolations resolved. Reports an invalid value, and then returns
   * undefined.
   */
  resolve(node: Node): Node | undefined {
    if (this.#done.has(node)) return this.#done.get(node);
    if (this.#open.includes(node)) throw this.#cycle(node);
    if (this.#open.length > maxChain)
      throw new ExpressionProblem(
        `More than ${maxChain} keys refer to each other one after another here. Refer to the last one directly.`,
      );
    this.#open.push(node);
    const resolved = this.#resolveNew(node);
    this.#open.pop();
    this.#done.set(node, resolved);
    return resolved;
  }

  #resolveNew(node: Node): Node | undefined {
    if (node.kind === 'list')
      return { ...node, items: node.items.flatMap((item) => this.resolve(item) ?? []) };
    if (node.kind === 'map') {
      const entries = [...node.entries].flatMap(([key, entry]) => {
        const child = this.resolve(entry.node);
        return child === undefined ? [] : [[key, { ...entry, node: child }] as const];
      });
      return { ...node, entries: new Map(entries) };
    }
    if (typeof node.value !== 'string') return node;
    const depth = this.#open.length;
    try {
      assertNoNul(node.value);
      if (!hasInterpolation(node.value)) return node;
      const found = this.#evaluate(parseExpression(node.value), node);
      assertNoNul(found.value);
      return this.#place(found, node);
    } catch (problem) {
      if (!(problem instanceof ExpressionProblem)) throw problem;
      this.#open.length = depth;
      if (problem.message !== '')
        this.problems.push({ at: node.at, key: node.path, message: problem.message });
      this.failed.push(node.path);
      return undefined;
    }
  }

  #place(found: Found, node: ScalarNode): Node {
    if (typeof found.value === 'object' && found.value !== null) {
      visit(found.value, () => this.#make(10));
      return transplant(found.value, node.path, node.at, found.secret);
    }
    const { value, source, secret } = found;
    return { ...node, value, source, secret: secret || node.secret };
  }

  /**
   * Evaluates an expression. If it is a single interpolation, its value keeps its type. If there is
   * text around interpolations, the result is a string.
   */
  #evaluate(expression: Expression, owner: Node): Found {
    const [first] = expression;
    if (expression.length === 1 && first !== undefined) return this.#part(first, owner);
    const found = expression.map((part) => this.#part(part, owner));
    const text = found.map(({ value, source }) => {
      if (typeof value === 'object' && value !== null)
        throw new ExpressionProblem(
          'A section or list cannot stand inside a longer string. Refer to a single value.',
        );
      if (value === null)
        throw new ExpressionProblem(
          'One of the values in this string is nothing. Give it a value, or a default as in "${oc.env:NAME,default}".',
        );
      return source !== undefined && plainDecimal.test(source) ? source : String(value);
    });
    this.#make(text.reduce((sum, { length }) => sum + length, 0));
    return { value: text.join(''), secret: found.some(({ secret }) => secret) };
  }

  #part(part: Expression[number], owner: Node): Found {
    if (part.kind === 'text') return { value: part.text, secret: false };
    if (part.kind === 'reference') return this.#reference(this.#text(part.path, owner), owner);
    const [first, second, ...rest] = part.args;
    if (rest.length > 0)
      throw new ExpressionProblem(
        `"\${${part.resolver}:...}" takes at most two values. Quote a value that holds a comma.`,
      );
    if (first === undefined) throw new ExpressionProblem(`"\${${part.resolver}:}" needs a value.`);
    if (part.resolver === 'oc.env') return this.#env(first, second, owner);
    if (part.resolver === 'oc.decode') return this.#decode(first, owner);
    if (part.resolver === 'oc.select') return this.#select(first, second, owner);
    if (part.resolver === 'oc.create') return this.#evaluate(first.value, owner);
    throw new ExpressionProblem(
      `There is no "${part.resolver}". Expected one of ${resolverNames.join(', ')}, or the path of a key.${didYouMean(part.resolver, resolverNames)}`,
    );
  }

  #env(name: Argument, fallback: Argument | undefined, owner: Node): Found {
    const variable = this.#text(name.value, owner).trim();
    const value = this.#context.env[variable];
    if (value !== undefined) {
      const secret = isSecretKey(variable) && !isColumn(value, owner);
      if (secret) this.secrets.add(value);
      return { value, secret };
    }
    if (fallback === undefined) {
      throw new ExpressionProblem(
        `The environment variable ${variable} is not set. Set it, or give a default: "\${oc.env:${variable},default}".`,
      );
    }
    return this.#fallback(fallback, owner);
  }

  /** Returns the value of a default: text, or null for an unquoted `null`. */
  #fallback(fallback: Argument, owner: Node): Found {
    const found = this.#evaluate(fallback.value, owner);
    return found.value === 'null' && !fallback.quoted ? { value: null, secret: false } : found;
  }

  /** Parses text as YAML: a number, a boolean, a list or a section. */
  #decode(argument: Argument, owner: Node): Found {
    const { value, secret } = this.#fallback(argument, owner);
    if (value === null) return { value, secret };
    if (typeof value !== 'string')
      throw new ExpressionProblem('"oc.decode" takes text, but got another kind of value.');
    try {
      const decoded = fromPlain(parseValue(value), owner.path, owner.at);
      if (secret) this.#addSecrets(decoded);
      return { value: decoded.kind === 'scalar' ? decoded.value : decoded, secret };
    } catch {
      throw new ExpressionProblem(
        `"oc.decode" could not read ${secret ? 'its text' : JSON.stringify(value)} as a number, true or false, [list] or {section}.`,
      );
    }
  }

  #select(argument: Argument, fallback: Argument | undefined, owner: Node): Found {
    const path = this.#text(argument.value, owner);
    const found = this.#lookup(this.#absolute(path, owner));
    if (found !== undefined) return found;
    return fallback === undefined
      ? { value: null, secret: false }
      : this.#fallback(fallback, owner);
  }

  #reference(text: string, owner: Node): Found {
    const path = this.#absolute(text, owner);
    const found = this.#lookup(path);
    if (found !== undefined) return found;
    throw new ExpressionProblem(
      `"\${${text}}" refers to the key ${showPath(path)}, which does not exist. Give the whole path of a key of this file, as in "\${model.model_path}".`,
    );
  }

  #text(expression: Expression, owner: Node): string {
    const { value } = this.#evaluate(expression, owner);
    if (typeof value === 'object')
      throw new ExpressionProblem('A name inside "${...}" must be text.');
    return String(value);
  }

  /**
   * Returns the absolute path of a reference. `a.b[0]` starts at the root, and `.b` at the section
   * of the owner. Each additional leading dot goes one level up.
   */
  #absolute(text: string, owner: Node): KeyPath {
    const dots = /^\.*/.exec(text)?.[0].length ?? 0;
    const parts = [...text.slice(dots).matchAll(/[^.[\]]+/g)].map(([part]) =>
      /^\d+$/.test(part) ? Number(part) : part.trim(),
    );
    if (dots > owner.path.length)
      throw new ExpressionProblem(
        `"\${${text}}" goes above the top level of the file: here at most ${owner.path.length} dots can begin a reference. Remove some, or give the whole path of the key.`,
      );
    return dots === 0 ? parts : [...owner.path.slice(0, owner.path.length - dots), ...parts];
  }

  #lookup(path: KeyPath): Found | undefined {
    let node: Node | undefined = this.#root;
    for (const part of path) {
      if (node?.kind === 'scalar') node = this.resolve(node);
      node = node === undefined ? undefined : childOf(node, part);
    }
    const secret = path.some((part) => typeof part === 'string' && isSecretKey(part));
    if (node !== undefined) {
      const resolved = this.resolve(node);
      if (resolved === undefined) throw new ExpressionProblem('');
      if (secret) this.#addSecrets(resolved);
      if (resolved.kind !== 'scalar') return { value: resolved, secret };
      const { value, source } = resolved;
      return { value, source, secret: secret || resolved.secret === true };
    }
    const known = this.#context.defaultAt(path);
    if (known === undefined) return undefined;
    const value = fromPlain(known.value, path, this.#root.at);
    return { value: value.kind === 'scalar' ? value.value : value, secret };
  }

  /** Adds the texts below a secret node, which messages must not contain. */
  #addSecrets(secret: Node): void {
    visit(secret, (node) => {
      if (node.kind === 'scalar' && typeof node.value === 'string') this.secrets.add(node.value);
    });
  }

  /**
   * Counts the characters that interpolations produce.
   * @throws ExpressionProblem if the total exceeds {@link maxMade}. Only the first of these errors
   * has a message
   */
  #make(count: number): void {
    const isFirst = this.#made <= maxMade;
    this.#made += count;
    if (this.#made > maxMade)
      throw new ExpressionProblem(
        isFirst
          ? `The interpolations of this file make more than ${maxMade} characters together. Does one key repeat another that repeats a third?`
          : '',
      );
  }

  #cycle(node: Node): ExpressionProblem {
    const loop = [...this.#open.slice(this.#open.indexOf(node)), node].filter(
      (step) => step === node || step.kind === 'scalar',
    );
    return new ExpressionProblem(
      `These keys refer to each other in a circle: ${loop.map((step) => showPath(step.path)).join(' -> ')}. Give one of them a value.`,
    );
  }
}

/**
 * Returns true for the name of a column, as `response_key` takes it. A variable with this name, such
 * as `ANSWER_KEY`, is then no secret.
 */
function isColumn(value: string, owner: Node): boolean {
  const key = owner.path.findLast((part) => typeof part === 'string') ?? '';
  return /_keys?$/.test(key) && !isSecretKey(key) && /^[a-z_]+$/.test(value);
}

/** Checks that a string has no NUL character, where the operating system would truncate it. */
function assertNoNul(value: Node | Scalar): void {
  if (typeof value === 'string' && value.includes('\0'))
    throw new ExpressionProblem('The text holds a NUL character (\\0). Remove it.');
}
