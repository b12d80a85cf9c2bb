/** Converts regular expressions of JavaScript to languages. */
import { RegExpParser, type AST } from '@eslint-community/regexpp';
import { LRUCache } from 'lru-cache';
import { charSet, charsWhere, complement, rangesOf, type CharSet } from './char-set.js';
import type { Language, Languages } from './language.js';

/**
 * Error for wrong syntax, or for a construct that is not supported or that no regular language can
 * express.
 */
export class PatternError extends Error {}

/** Maximum number of groups within each other. */
const maxNesting = 100;

/**
 * Returns the language of the strings that contain a match of the expression.
 * @throws PatternError for a syntax error, or a construct that is not supported
 */
export function patternLanguage(languages: Languages, source: string): Language {
  const { alternatives } = parsePattern(source);
  if (isTooDeep(alternatives)) throw tooDeep();
  const reader = new PatternReader(languages);
  return languages.or([
    reader.either(alternatives, languages.all, true, true),
    languages.concat(languages.all, reader.either(alternatives, languages.all, false, false)),
  ]);
}

/**
 * Parses an expression with the flag `u`, as validators do. Falls back to parsing without the flag.
 */
function parsePattern(source: string): AST.Pattern {
  const parser = new RegExpParser();
  try {
    return parser.parsePattern(source, 0, source.length, { unicode: true });
  } catch {
    try {
      return parser.parsePattern(source, 0, source.length, { unicode: false });
    } catch (error) {
      if (error instanceof RangeError) throw tooDeep();
      throw new PatternError(error instanceof Error ? error.message : String(error));
    }
  }
}

const tooDeep = (): PatternError =>
  new PatternError(`it has more than ${maxNesting} groups within each other`);

/** Counts level by level, because recursion could overflow the call stack. */
function isTooDeep(alternatives: readonly AST.Alternative[]): boolean {
  let level = alternatives;
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > maxNesting) return true;
    level = level
      .flatMap(({ elements }) => elements)
      .flatMap((element) => {
        const inner = element.type === 'Quantifier' ? element.element : element;
        return 'alternatives' in inner ? inner.alternatives : [];
      });
  }
  return false;
}

/**
 * Converts an expression from its end to its beginning, so that the language of the string that
 * follows is known at each step.
 */
class PatternReader {
  readonly #languages: Languages;

  constructor(languages: Languages) {
    this.#languages = languages;
  }

  /**
   * Returns the language of the strings that match one of the options and continue with a string in
   * `after`.
   * @param isFirst true if no characters precede the options
   * @param mayBeFirst true if it is possible that no characters precede the options
   */
  either(
    options: readonly AST.Alternative[],
    after: Language,
    isFirst: boolean,
    mayBeFirst: boolean,
  ): Language {
    return this.#languages.or(
      options.map(({ elements }) => {
        const first = elements.findIndex(({ type }) => type !== 'Assertion');
        return elements.reduceRight((rest, element, i) => {
          const isStill = isFirst && (first < 0 || i <= first);
          return this.#element(element, rest, isStill, mayBeFirst);
        }, after);
      }),
    );
  }

  #element(element: AST.Element, after: Language, isFirst: boolean, mayBeFirst: boolean): Language {
    const languages = this.#languages;
    switch (element.type) {
      case 'Character':
      case 'CharacterSet':
      case 'CharacterClass':
        return languages.concat(languages.chars(charsOf(element)), after);
      case 'Group':
        if (element.modifiers)
          throw new PatternError(`${element.modifiers.raw} changes flags in a part of the pattern`);
        return this.either(element.alternatives, after, isFirst, mayBeFirst);
      case 'CapturingGroup':
        return this.either(element.alternatives, after, isFirst, mayBeFirst);
      case 'Quantifier':
        return this.#repeated(element, after, isFirst, mayBeFirst);
      case 'Assertion':
        return this.#assertion(element, after, isFirst, mayBeFirst);
      case 'Backreference':
      case 'ExpressionCharacterClass':
        throw new PatternError(`${element.raw} is not a regular construct`);
    }
  }

  #repeated(
    { element, min, max }: AST.Quantifier,
    after: Language,
    isFirst: boolean,
    mayBeFirst: boolean,
  ): Language {
    const languages = this.#languages;
    if (max === 1) {
      const once = this.#element(element, after, isFirst, mayBeFirst);
      return min === 1 ? once : languages.or([once, after]);
    }
    if (max > 0 && hasAssertion(element))
      throw new PatternError(`${element.raw} holds an assertion that is repeated`);
    const item = this.#element(element, languages.empty, false, false);
    return languages.concat(languages.repeat(item, min, max), after);
  }

  #assertion(
    assertion: AST.Assertion,
    after: Language,
    isFirst: boolean,
    mayBeFirst: boolean,
  ): Language {
    const languages = this.#languages;
    if (assertion.kind === 'end') return languages.and([after, languages.empty]);
    if (assertion.kind === 'start') {
      if (isFirst) return after;
      if (mayBeFirst) throw new PatternError('^ stands behind other characters');
      return languages.none;
    }
    if (assertion.kind !== 'lookahead')
      throw new PatternError(`${assertion.raw} looks at characters before it`);
    const ahead = this.either(assertion.alternatives, languages.all, isFirst, mayBeFirst);
    return languages.and([after, assertion.negate ? languages.not(ahead) : ahead]);
  }
}

function hasAssertion(element: AST.Element): boolean {
  if (element.type === 'Assertion') return true;
  if (element.type === 'Quantifier') return hasAssertion(element.element);
  return 'alternatives' in element
    ? element.alternatives.some(({ elements }) => elements.some(hasAssertion))
    : false;
}

const digits: CharSet = [48, 57];
const word: CharSet = charSet([
  [48, 57],
  [65, 90],
  [95, 95],
  [97, 122],
]);
const spaces: CharSet = charSet(
  [9, 10, 11, 12, 13, 32, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000, 0xfeff]
    .map((char) => [char, char] as const)
    .concat([[0x2000, 0x200a]]),
);
const lineBreaks: CharSet = [10, 10, 13, 13, 0x2028, 0x2029];

/**
 * Cache of the characters with a Unicode property, because testing every character takes tens of
 * milliseconds.
 */
const properties = new LRUCache<string, CharSet>({ max: 64 });

type CharacterElement = AST.Character | AST.CharacterSet | AST.CharacterClass;

function charsOf(element: CharacterElement | AST.CharacterClassRange): CharSet {
  if (element.type === 'Character') return charSet([[element.value, element.value]]);
  if (element.type === 'CharacterClassRange')
    return charSet([[element.min.value, element.max.value]]);
  if (element.type === 'CharacterSet') return charsOfSet(element);
  const parts = element.elements.map((each) => charsOf(each as CharacterElement));
  const union = charSet(parts.flatMap(rangesOf));
  return element.negate ? complement(union) : union;
}

function charsOfSet(element: AST.CharacterSet): CharSet {
  if (element.kind === 'any') return complement(lineBreaks);
  if (element.kind === 'property') {
    const known = properties.get(element.raw);
    if (known) return known;
    const expression = new RegExp(element.raw, 'u');
    const found = charsWhere((char) => expression.test(char));
    properties.set(element.raw, found);
    return found;
  }
  const set = { digit: digits, space: spaces, word }[element.kind];
  return element.negate ? complement(set) : set;
}
