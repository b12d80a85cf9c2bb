/**
 * Converts schemas to disjunctive normal form: a list of alternatives, each a conjunction of
 * schemas. References, combinations and conditions are resolved together with the keywords next to
 * them, so that no keyword is ignored.
 */
import { isObject } from '../../json/object.js';
import { lookUp } from '../../json/pointer.js';
import { invalidRequest, quote } from '../../messages/invalid-request.js';
import { checkKeywords } from './keywords.js';
import { negate } from './negate.js';
import { allowedTypes } from './allowed-types.js';
import { type Conjunction, type JsonSchema, type SchemaNode } from './types.js';

type Alternatives = readonly Conjunction[];

/** Maximum nesting depth of references and combinations of schemas. */
const maxNesting = 200;

const always: Alternatives = [[]];
const never: Alternatives = [];

export interface NormalFormOptions {
  /** The schema in which references are looked up. */
  readonly root: JsonSchema;
  /** Counts steps; throws when there are too many. */
  readonly spend: (steps: number) => void;
  /** Returns true if it is certain that no value satisfies both schemas. */
  readonly areDisjoint: (a: SchemaNode, b: SchemaNode) => boolean;
  /** True to treat `oneOf` like `anyOf`, which also accepts values that satisfy several options. */
  readonly isLoose: boolean;
}

export class NormalForm {
  readonly #options: NormalFormOptions;
  readonly #known = new Map<JsonSchema, Alternatives>();
  readonly #open = new Set<JsonSchema>();
  readonly #opposites = new Map<JsonSchema, readonly SchemaNode[]>();

  constructor(options: NormalFormOptions) {
    this.#options = options;
  }

  /**
   * Returns alternatives that are equivalent to the conjunction of all schemas: a value satisfies
   * at least one alternative if and only if it satisfies every schema.
   */
  ofAll(nodes: readonly (SchemaNode | boolean)[]): Alternatives {
    return nodes.reduce<Alternatives>(
      (all, node) => this.#both(all, typeof node === 'boolean' ? ofBoolean(node) : this.#of(node)),
      always,
    );
  }

  #of(node: SchemaNode): Alternatives {
    const { schema, path } = node;
    const known = this.#known.get(schema);
    if (known) return known;
    checkKeywords(node, schema === this.#options.root);
    if (this.#open.has(schema))
      throw invalidRequest(path, 'refers to itself', 'references with a property or item between');
    if (this.#open.size > maxNesting)
      throw invalidRequest(
        `${path.slice(0, 80)}...`,
        'is nested too deeply',
        `at most ${maxNesting} levels`,
      );
    this.#open.add(schema);
    const found = this.#expand(node);
    this.#open.delete(schema);
    this.#known.set(schema, found);
    return found;
  }

  #expand(node: SchemaNode): Alternatives {
    const { schema, path } = node;
    const own: Alternatives = [[node]];
    const demands: Alternatives[] = [own];
    if (schema['$ref'] !== undefined)
      demands.push(this.#child(this.#resolve(schema['$ref'], path), `${path}.$ref`));
    this.#each(schema, 'allOf', path).forEach((child) => demands.push(this.ofAll([child])));
    const some = this.#each(schema, 'anyOf', path);
    if (some.length > 0) demands.push(this.#either(some));
    const one = this.#each(schema, 'oneOf', path);
    if (one.length > 0) demands.push(this.#exactlyOne(one));
    if (schema['not'] !== undefined) demands.push(this.#not(nodeOf(schema['not'], `${path}.not`)));
    if (schema['if'] !== undefined) demands.push(this.#condition(schema, path));
    for (const [name, demanded] of dependencies(schema))
      demands.push(this.#dependency(name, demanded, path));
    const all = demands.reduce((a, b) => this.#both(a, b));
    return schema['unevaluatedProperties'] === undefined
      ? all
      : all.map((conjunction) => closed(conjunction, node));
  }

  #child(schema: unknown, path: string): Alternatives {
    return this.ofAll([nodeOf(schema, path)]);
  }

  #each(schema: JsonSchema, keyword: string, path: string): readonly (SchemaNode | boolean)[] {
    const options = schema[keyword] as readonly unknown[] | undefined;
    return options?.map((option, i) => nodeOf(option, `${path}.${keyword}[${i}]`)) ?? [];
  }

  #either(nodes: readonly (SchemaNode | boolean)[]): Alternatives {
    return nodes.flatMap((node) => this.ofAll([node]));
  }

  #exactlyOne(nodes: readonly (SchemaNode | boolean)[]): Alternatives {
    if (this.#options.isLoose) return this.#either(nodes);
    return nodes.flatMap((node, i) => {
      const rivals = nodes.filter((rival, j) => j !== i && this.#overlap(node, rival));
      return rivals
        .map((rival) => this.#not(rival))
        .reduce((all, other) => this.#both(all, other), this.ofAll([node]));
    });
  }

  #overlap(a: SchemaNode | boolean, b: SchemaNode | boolean): boolean {
    if (typeof a === 'boolean' || typeof b === 'boolean') return a !== false && b !== false;
    return !this.#options.areDisjoint(a, b);
  }

  #not(node: SchemaNode | boolean): Alternatives {
    if (typeof node === 'boolean') return ofBoolean(!node);
    let opposites = this.#opposites.get(node.schema);
    if (!opposites) {
      checkKeywords(node, false);
      const found = negate(node, (reference) => this.#resolve(reference, node.path));
      opposites = found.flatMap((each) =>
        isObject(each)
          ? [{ schema: each, path: node.path }]
          : each === true
            ? [{ schema: {}, path: node.path }]
            : [],
      );
      this.#opposites.set(node.schema, opposites);
    }
    return this.#either(opposites);
  }

  #condition(
    { if: test, then: yes = true, else: no = true }: JsonSchema,
    path: string,
  ): Alternatives {
    if (yes === true && no === true) return always;
    const condition = nodeOf(test, `${path}.if`);
    return [
      ...this.#both(this.ofAll([condition]), this.#child(yes, `${path}.then`)),
      ...this.#both(this.#not(condition), this.#child(no, `${path}.else`)),
    ];
  }

  /**
   * Returns the alternatives for a property on which other requirements depend: the property is
   * absent, or it is present and the requirements are met.
   */
  #dependency(name: string, demanded: unknown, path: string): Alternatives {
    const without = { properties: { [name]: false } };
    const present = { type: 'object', required: [name] };
    const rest = Array.isArray(demanded) ? { required: demanded } : demanded;
    return [
      ...this.#child(without, path),
      ...this.#both(this.#child(present, path), this.#child(rest, path)),
    ];
  }

  /**
   * Combines each alternative of `a` with each of `b`, except pairs whose types exclude each other.
   */
  #both(a: Alternatives, b: Alternatives): Alternatives {
    if (a === always) return b;
    if (b === always) return a;
    const [one = [], other = []] = [a[0], b[0]];
    this.#options.spend(a.length * b.length * (one.length + other.length));
    return a.flatMap((one) =>
      b
        .map((other) => [
          ...new Map([...one, ...other].map((node) => [node.schema, node])).values(),
        ])
        .filter((both) => allowedTypes(both).size > 0),
    );
  }

  #resolve(reference: unknown, path: string): unknown {
    const found = typeof reference === 'string' ? lookUp(this.#options.root, reference) : undefined;
    if (found === undefined)
      throw invalidRequest(
        `${path}.$ref`,
        `is ${quote(reference)}`,
        'the path of a schema in the same document',
      );
    return found;
  }
}

const ofBoolean = (allowed: boolean): Alternatives => (allowed ? always : never);

export function nodeOf(schema: unknown, path: string): SchemaNode | boolean {
  if (typeof schema === 'boolean') return schema;
  if (isObject(schema)) return { schema, path };
  throw invalidRequest(path, `is ${quote(schema)}`, 'a schema');
}

/**
 * Returns the dependencies of a schema, from the keywords of all drafts of JSON Schema: pairs of a
 * property's name and what the presence of that property requires.
 */
function dependencies(schema: JsonSchema): readonly (readonly [string, unknown])[] {
  return ['dependentRequired', 'dependentSchemas', 'dependencies'].flatMap((keyword) =>
    Object.entries((schema[keyword] as JsonSchema | undefined) ?? {}),
  );
}

/**
 * Adds a schema that applies `unevaluatedProperties` to properties that the conjunction does not
 * name. No-op if a schema of the conjunction has `additionalProperties`.
 */
function closed(conjunction: Conjunction, { schema, path }: SchemaNode): Conjunction {
  if (conjunction.some((node) => node.schema['additionalProperties'] !== undefined))
    return conjunction;
  const allow = (keyword: string): JsonSchema =>
    Object.fromEntries(
      conjunction
        .flatMap((node) => Object.keys((node.schema[keyword] as JsonSchema | undefined) ?? {}))
        .map((name) => [name, true]),
    );
  const rest = {
    properties: allow('properties'),
    patternProperties: allow('patternProperties'),
    additionalProperties: schema['unevaluatedProperties'],
  };
  return [...conjunction, { schema: rest, path: `${path}.unevaluatedProperties` }];
}
