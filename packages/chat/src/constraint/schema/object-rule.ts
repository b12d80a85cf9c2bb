/** Rules for objects: named properties in the order of the schemas, then other properties. */
import { literal, type Sequence } from '../grammar/grammar.js';
import { space } from '../grammar/json-value.js';
import type { Language } from '../text/language.js';
import { textRule } from '../text/text-rules.js';
import { nodeOf } from './normal-form.js';
import {
  highest,
  lowest,
  type Compiler,
  type Conjunction,
  type JsonSchema,
  type SchemaNode,
} from './types.js';

type Values = readonly (SchemaNode | boolean)[];

interface Property {
  readonly name: string;
  readonly isRequired: boolean;
  readonly values: Values;
}

/**
 * Group of properties that the schemas do not list. `names` contains the allowed names of these
 * properties.
 */
interface OtherProperties {
  readonly names: Language;
  readonly values: Values;
}

export function objectAlternatives(compiler: Compiler, nodes: Conjunction): readonly Sequence[] {
  const { grammar } = compiler;
  const parts = nodes.map((node) => partOf(compiler, node));
  const named = namedProperties(compiler, nodes, parts);
  if (named.some(({ isRequired, values }) => isRequired && compiler.isPlainlyEmpty(values)))
    return [];
  const possible = named.filter(({ values }) => !values.includes(false));
  const others = otherProperties(compiler, nodes, parts, named);
  const gap = space(grammar);
  const member = (key: Sequence, values: Values): Sequence => [
    ...key,
    ...literal(':'),
    gap,
    compiler.rule(values),
    gap,
  ];
  const members = possible.map(({ name, isRequired, values }) => ({
    isRequired,
    text: member(literal(JSON.stringify(name)), values),
  }));
  const rests = others.map(({ names, values }) =>
    member([textRule(grammar, compiler.languages, names)], values),
  );
  return [
    [
      ...literal('{'),
      gap,
      membersRule(compiler, {
        members,
        rests,
        least: highest(nodes, 'minProperties'),
        most: lowest(nodes, 'maxProperties'),
      }),
    ],
  ];
}

interface Members {
  readonly members: readonly { readonly isRequired: boolean; readonly text: Sequence }[];
  readonly rests: readonly Sequence[];
  readonly least: number;
  readonly most: number;
}

/**
 * Returns the rule for the members and the closing brace. A grammar cannot exclude that several
 * members in `rests` have the same name, so together they count as only one member towards `least`.
 */
function membersRule({ grammar }: Compiler, { members, rests, least, most }: Members): number {
  const comma = [...literal(','), space(grammar)];
  /**
   * Number of members from which on counting stops, because further members cannot affect the
   * limits.
   */
  const enough = Math.max(1, Number.isFinite(most) ? most : 0, least);
  const known = new Map<string, number>();
  /** Declared rules that are not yet defined, because recursion would overflow the call stack. */
  const open: [rule: number, index: number, written: number, repeatable: number][] = [];
  /**
   * Returns the rule for the rest of the object, from the listed member `index` on.
   * @param written number of members so far
   * @param repeatable number of these members that may have equal names
   */
  const ruleAt = (index: number, written: number, repeatable: number): number => {
    const key = [index, written, repeatable].join(' ');
    const rule = known.get(key) ?? grammar.declare();
    if (!known.has(key)) open.push([rule, index, written, repeatable]);
    known.set(key, rule);
    return rule;
  };
  const alternativesAt = (index: number, written: number, repeatable: number): Sequence[] => {
    const before = written === 0 ? [] : comma;
    const count = Math.min(written + 1, enough);
    const isFull = written >= most;
    const next = members[index];
    if (next) {
      const taken: Sequence[] = isFull
        ? []
        : [[...before, ...next.text, ruleAt(index + 1, count, 0)]];
      return next.isRequired ? taken : [...taken, [ruleAt(index + 1, written, 0)]];
    }
    const distinct = written - Math.max(repeatable - 1, 0);
    const again = Number.isFinite(most) || least > 0 ? Math.min(repeatable + 1, enough) : 1;
    return [
      ...(distinct >= least && written <= most ? [literal('}')] : []),
      ...(isFull ? [] : rests.map((rest) => [...before, ...rest, ruleAt(index, count, again)])),
    ];
  };
  const start = ruleAt(0, 0, 0);
  for (let top = open.pop(); top; top = open.pop()) {
    const [rule, ...state] = top;
    grammar.define(rule, alternativesAt(...state));
  }
  return start;
}

/** The keywords of one schema that concern properties. */
interface Part {
  readonly node: SchemaNode;
  readonly own: JsonSchema;
  readonly patterns: readonly { readonly names: Language; readonly value: SchemaNode | boolean }[];
  /** Schema of properties whose names are not in `properties` and match no pattern. */
  readonly additional: SchemaNode | boolean | undefined;
}

function partOf(compiler: Compiler, node: SchemaNode): Part {
  const { schema, path } = node;
  const patterns = Object.entries((schema['patternProperties'] as JsonSchema | undefined) ?? {});
  const additional = schema['additionalProperties'];
  return {
    node,
    own: (schema['properties'] as JsonSchema | undefined) ?? {},
    patterns: patterns.map(([source, value]) => ({
      names: compiler.pattern(source, `${path}.patternProperties`),
      value: nodeOf(value, `${path}.patternProperties.${source}`),
    })),
    additional:
      additional === undefined ? undefined : nodeOf(additional, `${path}.additionalProperties`),
  };
}

/**
 * Returns the properties that at least one schema names, each with all schemas that apply to the
 * property.
 */
function namedProperties(
  compiler: Compiler,
  nodes: Conjunction,
  parts: readonly Part[],
): readonly Property[] {
  const required = new Set(
    nodes.flatMap(({ schema }) => (schema['required'] as string[] | undefined) ?? []),
  );
  const nameSchemas = schemasOfNames(nodes);
  const listed = nameSchemas.length > 0 ? compiler.namedTexts(nameSchemas) : undefined;
  const names = new Set([
    ...parts.flatMap(({ own }) => Object.keys(own)),
    ...required,
    ...(listed ?? []),
  ]);
  const allowed = compiler.texts(nameSchemas);
  return [...names].map((name) => ({
    name,
    isRequired: required.has(name),
    values: compiler.languages.has(allowed, name)
      ? parts.flatMap((part) => valuesOf(compiler, part, name))
      : [false],
  }));
}

function valuesOf(
  { languages }: Compiler,
  { node, own, patterns, additional }: Part,
  name: string,
): Values {
  const matching = patterns
    .filter(({ names }) => languages.has(names, name))
    .map(({ value }) => value);
  if (Object.hasOwn(own, name))
    return [nodeOf(own[name], `${node.path}.properties.${name}`), ...matching];
  return matching.length === 0 && additional !== undefined ? [additional] : matching;
}

/**
 * Returns the properties that the schemas do not list, grouped by the patterns that match their
 * names. If a schema has `properties` or `patternProperties`, other properties are only allowed if
 * they match a pattern, or if there is `additionalProperties` or `propertyNames`.
 */
function otherProperties(
  compiler: Compiler,
  nodes: Conjunction,
  parts: readonly Part[],
  named: readonly Property[],
): readonly OtherProperties[] {
  const { languages } = compiler;
  const nameSchemas = schemasOfNames(nodes);
  const isOpen =
    nameSchemas.length > 0 ||
    parts.every(({ own, patterns }) => Object.keys(own).length + patterns.length === 0);
  const free = languages.and([
    compiler.texts(nameSchemas),
    languages.not(languages.or(named.map(({ name }) => languages.literal(name)))),
  ]);
  let cells: readonly { readonly names: Language; readonly matched: ReadonlySet<Language> }[] = [
    { names: free, matched: new Set() },
  ];
  for (const pattern of new Set(
    parts.flatMap(({ patterns }) => patterns.map(({ names }) => names)),
  )) {
    cells = cells
      .flatMap(({ names, matched }) => [
        { names: languages.and([names, pattern]), matched: new Set([...matched, pattern]) },
        { names: languages.and([names, languages.not(pattern)]), matched },
      ])
      .filter(({ names }) => !languages.isEmpty(names));
  }
  return cells
    .map(({ names, matched }) => ({
      names,
      spoken: parts.map(({ patterns, additional }): Values => {
        const matching = patterns.filter((pattern) => matched.has(pattern.names));
        if (matching.length > 0) return matching.map(({ value }) => value);
        return additional === undefined ? [] : [additional];
      }),
    }))
    .filter(({ spoken }) => isOpen || spoken.some((values) => values.length > 0))
    .map(({ names, spoken }) => ({ names, values: spoken.flat() }))
    .filter(({ values }) => !values.includes(false));
}

const schemasOfNames = (nodes: Conjunction): Values =>
  nodes.flatMap(({ schema, path }) =>
    schema['propertyNames'] === undefined
      ? []
      : [nodeOf(schema['propertyNames'], `${path}.propertyNames`)],
  );
