/**
 * Converts JSON Schemas to grammar rules: one rule per set of schemas that a value must satisfy
 * together.
 */
import { canonical } from '../../json/object.js';
import { invalidRequest, quote } from '../../messages/invalid-request.js';
import {
  counted,
  createGrammar,
  literal,
  productive,
  type GrammarBuilder,
  type Sequence,
} from '../grammar/grammar.js';
import { anyObject, anyValue, character } from '../grammar/json-value.js';
import { inRange, numberRule, type NumberRange } from '../grammar/number-range.js';
import { allChars } from '../text/char-set.js';
import { formats } from '../text/formats.js';
import { Languages, type Language } from '../text/language.js';
import { PatternError, patternLanguage } from '../text/pattern.js';
import { textRule } from '../text/text-rules.js';
import { allowedTypes, intendedTypes } from './allowed-types.js';
import { arrayAlternatives } from './array-rule.js';
import { hasKeywordsOf } from './keywords.js';
import { NormalForm } from './normal-form.js';
import { objectAlternatives } from './object-rule.js';
import {
  highest,
  lowest,
  excludedIntegers,
  excludedPattern,
  excludedValues,
  typeOf,
  type Compiler,
  type Conjunction,
  type JsonSchema,
  type SchemaNode,
  type SchemaType,
} from './types.js';

/**
 * Maximum number of steps (rules, derivatives and combinations) for compiling one response format.
 */
const maxSteps = 100_000;

/** Maximum number of states of the automaton that matches one string. */
const maxTextStates = 3000;

/**
 * Returns a function that counts steps, and that throws ModelError 400 when there are more than
 * {@link maxSteps}.
 */
export function createBudget(path: string): (steps?: number) => void {
  let left = maxSteps;
  return (steps = 1) => {
    left -= steps;
    if (left < 0) throw tooLarge(path);
  };
}

const tooLarge = (path: string): Error =>
  invalidRequest(
    path,
    'is too large to be enforced',
    'fewer combinations, shorter lengths beside patterns, or patterns with fewer alternatives and optional parts',
  );

/**
 * Adds a rule that matches the values that satisfy a schema, and returns the rule's number.
 * Properties come in the order of the schema. If the schema has `properties`, other properties are
 * allowed only if it also has `additionalProperties`, `patternProperties` or `propertyNames`.
 * @param path path of the schema, for error messages
 * @param type the only type that the values may have; undefined for all types
 * @throws ModelError 400 if the schema is too large, or has a wrong or unsupported keyword, which
 * the message names
 */
export function schemaRule(
  grammar: GrammarBuilder,
  schema: JsonSchema,
  path: string,
  spend: (steps?: number) => void,
  type?: SchemaType,
): number {
  const languages = new Languages(spend);
  const loose = new NormalForm({ root: schema, spend, areDisjoint: () => false, isLoose: true });
  const areDisjoint = (a: SchemaNode, b: SchemaNode): boolean => {
    const scratch = createGrammar(spend);
    const rule = new SchemaCompiler(scratch, languages, loose, true).whole([a, b]);
    return productive(scratch.rules)[rule]!.length === 0;
  };
  const form = new NormalForm({ root: schema, spend, areDisjoint, isLoose: false });
  return new SchemaCompiler(grammar, languages, form).whole([
    { schema, path },
    ...(type === undefined ? [] : [{ schema: { type }, path }]),
  ]);
}

class SchemaCompiler implements Compiler {
  readonly grammar: GrammarBuilder;
  readonly languages: Languages;
  readonly #form: NormalForm;
  readonly #isLoose: boolean;
  readonly #rules = new Map<string, number>();
  readonly #ids = new Map<JsonSchema, number>();
  /**
   * Pending functions that define the declared rules. They are in a list, because recursion into
   * deeply nested values would overflow the call stack.
   */
  readonly #open: (() => void)[] = [];

  /**
   * Creates the compiler.
   * @param isLoose true for a grammar that may match more than the schema allows, but never less:
   * `format` is ignored, and so are length limits that would need too many states
   */
  constructor(grammar: GrammarBuilder, languages: Languages, form: NormalForm, isLoose = false) {
    this.#isLoose = isLoose;
    this.grammar = grammar;
    this.languages = languages;
    this.#form = form;
  }

  whole(nodes: readonly SchemaNode[]): number {
    const rule = this.rule(nodes);
    for (let define = this.#open.pop(); define; define = this.#open.pop()) define();
    return rule;
  }

  rule(nodes: readonly (SchemaNode | boolean)[]): number {
    const ids = nodes.map((node) => (typeof node === 'boolean' ? Number(node) : this.#id(node)));
    const key = [...new Set(ids)].filter((id) => id !== 1).join(' ');
    const known = this.#rules.get(key);
    if (known !== undefined) return known;
    const rule = this.grammar.declare();
    this.#rules.set(key, rule);
    this.#open.push(() => {
      const alternatives = this.#form.ofAll(nodes).flatMap((each) => this.#alternatives(each));
      this.grammar.define(rule, alternatives);
    });
    return rule;
  }

  isPlainlyEmpty(nodes: readonly (SchemaNode | boolean)[]): boolean {
    return this.#form.ofAll(nodes).every((each) => this.#values(each)?.length === 0);
  }

  texts(nodes: readonly (SchemaNode | boolean)[]): Language {
    const { languages } = this;
    return languages.or(
      this.#form.ofAll(nodes).map((each) => {
        if (!allowedTypes(each).has('string')) return languages.none;
        const values = this.#values(each)?.filter((value) => typeof value === 'string');
        if (values) return languages.or(values.map((value) => languages.literal(value)));
        return this.#withLength(this.#textsOf(each), each);
      }),
    );
  }

  namedTexts(nodes: readonly (SchemaNode | boolean)[]): readonly string[] | undefined {
    const lists = this.#form.ofAll(nodes).map((each) => this.#values(each));
    return lists.includes(undefined)
      ? undefined
      : lists.flatMap((values) => values!.filter((value) => typeof value === 'string'));
  }

  pattern(source: string, path: string): Language {
    try {
      return patternLanguage(this.languages, source);
    } catch (error) {
      if (!(error instanceof PatternError)) throw error;
      throw invalidRequest(
        path,
        `is ${quote(source)}, which cannot be enforced: ${error.message}`,
        'a regular expression without back references, \\b, lookbehind and repeated assertions',
      );
    }
  }

  #id({ schema }: SchemaNode): number {
    const id = this.#ids.get(schema) ?? this.#ids.size + 2;
    this.#ids.set(schema, id);
    return id;
  }

  #alternatives(nodes: Conjunction): readonly Sequence[] {
    const values = this.#values(nodes);
    if (values) return values.map((value) => literal(JSON.stringify(value)));
    if (nodes.every(({ schema }) => isUnrestricted(schema))) return [[anyValue(this.grammar)]];
    return [...intendedTypes(nodes)].flatMap((type) => this.#ofType(type, nodes));
  }

  #ofType(type: SchemaType, given: Conjunction): readonly Sequence[] {
    const { grammar } = this;
    const nodes = this.#withoutExcluded(type, given);
    if (type === 'object') {
      const isAny = !nodes.some(({ schema }) => hasKeywordsOf(schema, 'object'));
      return isAny ? [[anyObject(grammar)]] : objectAlternatives(this, nodes);
    }
    if (type === 'array') return arrayAlternatives(this, nodes);
    const excluded = excludedOf(nodes);
    if (type === 'boolean' || type === 'null')
      return ['true', 'false', 'null']
        .filter((text) => (text === 'null') === (type === 'null') && !excluded.has(text))
        .map(literal);
    if (type === 'string') return [[this.#string(nodes)]];
    return [[numberRule(grammar, this.#range(nodes, type === 'integer'))]];
  }

  /**
   * Expresses an excluded empty array or object as a minimum count of 1.
   * @throws ModelError 400 for other excluded arrays and objects
   */
  #withoutExcluded(type: SchemaType, nodes: Conjunction): Conjunction {
    if (type !== 'array' && type !== 'object') return nodes;
    const [empty, keyword] = type === 'array' ? ['[]', 'minItems'] : ['{}', 'minProperties'];
    const demands = nodes.flatMap((node) =>
      [...excludedOf([node])]
        .filter((text) => text[0] === empty[0])
        .flatMap((text): SchemaNode[] => {
          if (text === empty) return [{ schema: { [keyword]: 1 }, path: node.path }];
          if (this.#isLoose) return [];
          throw invalidRequest(
            node.path,
            `excludes the ${type} ${text.slice(0, 80)}, which a grammar cannot do`,
            'only strings, booleans, null, [] and {}',
          );
        }),
    );
    return [...nodes, ...demands];
  }

  #string(nodes: Conjunction): number {
    const { grammar, languages } = this;
    const language = this.#textsOf(nodes);
    const [min, max] = lengths(nodes);
    if (language !== languages.all)
      return textRule(grammar, languages, this.#withLength(language, nodes));
    if (min === 0 && max === Infinity) return textRule(grammar, languages, language);
    if (min > max) return grammar.rule([]);
    return grammar.rule([
      [...literal('"'), counted(grammar, [character(grammar)], min, max), ...literal('"')],
    ]);
  }

  /**
   * Restricts the length of strings that must also match a pattern. The maximum length is lowered
   * until the automaton, which combines the states of pattern and length, is small enough. If the
   * compiler is loose, a length that makes the automaton too large is ignored.
   */
  #withLength(language: Language, nodes: Conjunction): Language {
    const { languages } = this;
    const any = languages.chars(allChars);
    const [min, max] = lengths(nodes);
    for (let most = max; ; most = min + Math.floor((most - min) / 2)) {
      const both = languages.and([language, languages.repeat(any, min, most)]);
      const isSmall = languages.size(both, maxTextStates) < maxTextStates;
      if (isSmall) return both;
      if (this.#isLoose) return language;
      if (most - min < 2 || most === Infinity) throw tooLarge(nodes[0]?.path ?? 'schema');
    }
  }

  /**
   * Returns the strings that satisfy the schemas if length limits are ignored. The caller limits
   * lengths, because counting characters needs fewer rules than an automaton if there is no
   * pattern.
   */
  #textsOf(nodes: Conjunction): Language {
    const { languages } = this;
    const excluded = [...excludedOf(nodes)].filter((text) => text.startsWith('"'));
    return languages.and([
      languages.not(
        languages.or(excluded.map((text) => languages.literal(JSON.parse(text) as string))),
      ),
      ...nodes.flatMap(({ schema, path }) => {
        const {
          pattern,
          format,
          [excludedPattern as never]: opposite,
        } = schema as Record<string, string>;
        const known =
          !this.#isLoose && format !== undefined && Object.hasOwn(formats, format)
            ? formats[format]
            : undefined;
        return [
          ...(pattern === undefined ? [] : [this.pattern(pattern, `${path}.pattern`)]),
          ...(known === undefined ? [] : [this.pattern(known, `${path}.format`)]),
          ...(opposite === undefined
            ? []
            : [languages.not(this.pattern(opposite, `${path}.pattern`))]),
        ];
      }),
    ]);
  }

  /**
   * Returns the values of `enum` and `const` that satisfy all keywords; undefined if no schema has
   * `enum` or `const`.
   */
  #values(nodes: Conjunction): readonly unknown[] | undefined {
    const lists = nodes.flatMap(({ schema }) => {
      const { const: value, enum: values } = schema;
      return [
        ...(value === undefined ? [] : [[value]]),
        ...(values === undefined ? [] : [values as unknown[]]),
      ];
    });
    const [first, ...rest] = lists;
    if (!first) return undefined;
    const others = rest.map((values) => new Set(values.map(canonical)));
    const texts = new Map(first.map((value) => [canonical(value), value]));
    return [...texts]
      .filter(([text]) => others.every((values) => values.has(text)))
      .map(([, value]) => value)
      .filter(this.#isAllowed(nodes));
  }

  #isAllowed(nodes: Conjunction): (value: unknown) => boolean {
    const types = allowedTypes(nodes);
    const excluded = excludedOf(nodes);
    return (value) => {
      const type = typeOf(value);
      const isOfType = types.has(type) || (types.has('integer') && Number.isInteger(value));
      return isOfType && !excluded.has(canonical(value)) && this.#keepsLimits(nodes, value, type);
    };
  }

  #keepsLimits(nodes: Conjunction, value: unknown, type: SchemaType): boolean {
    const restricting = nodes.find(
      ({ schema }) =>
        hasKeywordsOf(schema, type) ||
        (type === 'number' && excludedIntegers in schema) ||
        (type === 'string' && excludedPattern in schema),
    );
    if (!restricting) return true;
    if (typeof value === 'number') return inRange(value, this.#range(nodes, false));
    if (typeof value !== 'string')
      throw invalidRequest(
        restricting.path,
        `has keywords for ${type} values beside enum or const`,
        `only one of them`,
      );
    const [min, max] = lengths(nodes);
    const { length } = Array.from(value);
    return length >= min && length <= max && this.languages.has(this.#textsOf(nodes), value);
  }

  #range(nodes: Conjunction, isInteger: boolean): NumberRange {
    const excluded = [...excludedOf(nodes)].find((text) => /^[-\d]/.test(text));
    if (excluded !== undefined && !this.#isEnumerated(nodes))
      throw invalidRequest(
        nodes[0]!.path,
        `excludes the number ${excluded}, which a grammar cannot do`,
        'the allowed numbers in enum',
      );
    const at = (keyword: string): readonly number[] =>
      nodes.flatMap(({ schema }) => (schema[keyword] as number | undefined) ?? []);
    const min = Math.max(-Infinity, ...at('minimum'), ...at('exclusiveMinimum'));
    const max = Math.min(Infinity, ...at('maximum'), ...at('exclusiveMaximum'));
    const multiples = at('multipleOf');
    return {
      isInteger,
      isFraction: nodes.some(({ schema }) => excludedIntegers in schema),
      min,
      max,
      isMinExclusive: at('exclusiveMinimum').includes(min),
      isMaxExclusive: at('exclusiveMaximum').includes(max),
      multipleOf: multiples.length === 0 ? undefined : multiples.reduce(leastCommonMultiple),
    };
  }

  #isEnumerated(nodes: Conjunction): boolean {
    return nodes.some(
      ({ schema }) => schema['const'] !== undefined || schema['enum'] !== undefined,
    );
  }
}

const isUnrestricted = (schema: JsonSchema): boolean =>
  schema['type'] === undefined &&
  (schema as Record<symbol, unknown>)[excludedValues] === undefined &&
  !['object', 'array', 'string', 'number'].some((type) => hasKeywordsOf(schema, type));

function excludedOf(nodes: Conjunction): ReadonlySet<string> {
  const values = nodes.flatMap(
    ({ schema }) => (schema as Record<symbol, unknown[]>)[excludedValues] ?? [],
  );
  return new Set(values.map(canonical));
}

const lengths = (nodes: Conjunction): readonly [min: number, max: number] => [
  highest(nodes, 'minLength'),
  lowest(nodes, 'maxLength'),
];

function leastCommonMultiple(a: number, b: number): number {
  let [divisor, rest] = [a, b];
  while (rest > 0) [divisor, rest] = [rest, divisor % rest];
  return (a / divisor) * b;
}
