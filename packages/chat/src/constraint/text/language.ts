/**
 * Regular languages with intersection and complement, matched character by character. The
 * derivative of a language by a character is the language of the strings that may follow that
 * character. Most equal languages are the same object, which keeps the number of derivatives small.
 * @see Brzozowski, Derivatives of Regular Expressions, 1964
 */
import {
  allChars,
  charSet,
  has,
  intersect,
  rangesOf,
  type CharSet,
  type Range,
} from './char-set.js';

export interface Language {
  readonly id: number;
  readonly kind: 'empty' | 'chars' | 'concat' | 'or' | 'and' | 'not' | 'repeat';
  readonly parts: readonly Language[];
  /** Characters, if `kind` is `chars`. */
  readonly set: CharSet;
  /** Bounds of the repetition, if `kind` is `repeat`. */
  readonly min: number;
  readonly max: number;
  /** True if the language contains the empty string. */
  readonly isNullable: boolean;
  /** Number of levels of parts that a derivative may need. */
  readonly depth: number;
}

/** Maximum depth of a language, because derivatives are computed recursively. */
const maxDepth = 500;

type Fields = Partial<Pick<Language, 'parts' | 'set' | 'min' | 'max'>>;

export interface Transition {
  readonly set: CharSet;
  readonly next: Language;
}

/** Creates and caches the languages of one compiled schema. */
export class Languages {
  readonly #known = new Map<string, Language>();
  readonly #transitions = new Map<number, readonly Transition[]>();
  /** Derivatives by character, and then by the id of the language. */
  readonly #derivatives = new Map<number, Map<number, Language>>();
  /** Called for each new language, with its cost in steps; throws when there are too many. */
  readonly #spend: (steps: number) => void;
  /** The empty language, which contains no string, not even the empty one. */
  readonly none: Language;
  /** The language that contains only the empty string. */
  readonly empty: Language;
  /** The language of all strings. */
  readonly all: Language;

  constructor(spend: (steps: number) => void) {
    this.#spend = spend;
    this.none = this.#make('or', false, {});
    this.empty = this.#make('empty', true, {});
    this.all = this.#make('not', true, { parts: [this.none] });
  }

  chars(set: CharSet): Language {
    return set.length === 0 ? this.none : this.#make('chars', false, { set });
  }

  literal(text: string): Language {
    return Array.from(text).reduceRight((rest, char) => {
      const code = char.codePointAt(0)!;
      return this.concat(this.chars([code, code]), rest);
    }, this.empty);
  }

  concat(first: Language, rest: Language): Language {
    if (first === this.none || rest === this.none) return this.none;
    if (first === this.empty) return rest;
    if (rest === this.empty || (first === this.all && rest === this.all)) return first;
    if (first.kind === 'concat') {
      const heads: Language[] = [];
      let end: Language = first;
      for (; end.kind === 'concat'; end = end.parts[1]!) heads.push(end.parts[0]!);
      return heads.reduceRight((all, head) => this.concat(head, all), this.concat(end, rest));
    }
    return this.#make('concat', first.isNullable && rest.isNullable, { parts: [first, rest] });
  }

  or(options: readonly Language[]): Language {
    const parts = this.#flat('or', options, this.none);
    if (parts.includes(this.all)) return this.all;
    return parts.length === 1
      ? parts[0]!
      : this.#make(
          'or',
          parts.some((part) => part.isNullable),
          { parts },
        );
  }

  and(demands: readonly Language[]): Language {
    const parts = this.#flat('and', demands, this.all);
    if (parts.includes(this.none)) return this.none;
    if (parts.includes(this.empty))
      return parts.every((part) => part.isNullable) ? this.empty : this.none;
    if (parts.length === 0) return this.all;
    return parts.length === 1
      ? parts[0]!
      : this.#make(
          'and',
          parts.every((part) => part.isNullable),
          { parts },
        );
  }

  not(language: Language): Language {
    return language.kind === 'not'
      ? language.parts[0]!
      : this.#make('not', !language.isNullable, { parts: [language] });
  }

  repeat(item: Language, min: number, max: number): Language {
    if (max < min) return this.none;
    if (max === 0 || item === this.empty) return this.empty;
    if (item === this.none) return min === 0 ? this.empty : this.none;
    if (min === 1 && max === 1) return item;
    const isNullable = min === 0 || item.isNullable;
    return this.#make('repeat', isNullable, { parts: [item], min, max });
  }

  /**
   * Returns the sets of possible first characters, each with the language of the strings that may
   * follow these characters. No character is in two sets.
   */
  transitions(language: Language): readonly Transition[] {
    const known = this.#transitions.get(language.id);
    if (known) return known;
    const byNext = new Map<Language, Range[]>();
    for (const { set, next } of this.#steps(language)) {
      if (next === this.none) continue;
      const ranges = byNext.get(next) ?? [];
      byNext.set(next, ranges);
      ranges.push(...rangesOf(set));
    }
    const found = [...byNext].map(([next, ranges]): Transition => ({ set: charSet(ranges), next }));
    this.#transitions.set(language.id, found);
    return found;
  }

  /**
   * Returns the number of states of the automaton that recognises the language, counted up to
   * `limit`.
   */
  size(language: Language, limit: number): number {
    const seen = new Set([language]);
    for (const each of seen) {
      for (const { next } of this.transitions(each)) seen.add(next);
      if (seen.size >= limit) break;
    }
    return Math.min(seen.size, limit);
  }

  has(language: Language, text: string): boolean {
    let rest = language;
    for (const char of text) rest = this.#derive(rest, char.codePointAt(0)!);
    return rest.isNullable;
  }

  isEmpty(language: Language): boolean {
    const seen = new Set([language]);
    for (const each of seen) {
      if (each.isNullable) return false;
      for (const { next } of this.transitions(each)) seen.add(next);
    }
    return true;
  }

  #flat(kind: 'or' | 'and', parts: readonly Language[], neutral: Language): readonly Language[] {
    const flat = parts.flatMap((part) => (part.kind === kind ? part.parts : [part]));
    // Most of the work on long sequences of optional parts, whose states have many parts.
    if (kind === 'or') this.#spend(Math.floor(flat.length / 128));
    return [...new Set(flat)].filter((part) => part !== neutral).toSorted((a, b) => a.id - b.id);
  }

  #make(kind: Language['kind'], isNullable: boolean, fields: Fields): Language {
    const { parts = [], set = [], min = 0, max = 0 } = fields;
    const key = `${kind} ${parts.map((part) => part.id).join(' ')};${set.join(' ')};${min} ${max}`;
    const known = this.#known.get(key);
    if (known) return known;
    const needed = neededParts(kind, parts);
    const depth = needed.reduce((most, part) => Math.max(most, part.depth), 0) + 1;
    this.#spend(depth > maxDepth ? Infinity : 1);
    const language = { id: this.#known.size, kind, parts, set, min, max, isNullable, depth };
    this.#known.set(key, language);
    return language;
  }

  /**
   * Computes the transitions of a language. For an intersection, the cached transitions of its
   * parts are combined.
   */
  #steps(language: Language): readonly Transition[] {
    if (language.kind !== 'and') return [...this.#segments(language)];
    return language.parts
      .map((part) => this.transitions(part))
      .reduce((all, others) => {
        // Most of the work on intersections of many patterns, whose transitions multiply.
        this.#spend(Math.ceil((all.length * others.length) / 4));
        return all.flatMap((one) =>
          others
            .map((other) => ({
              set: intersect(one.set, other.set),
              next: this.and([one.next, other.next]),
            }))
            .filter(({ set }) => set.length > 0),
        );
      });
  }

  /** Splits all characters into ranges within which the derivative of the language is the same. */
  *#segments(language: Language): Iterable<Transition> {
    const sets = [...firstSets(language, new Set())];
    const cuts = new Set(allChars.map((edge, i) => (i % 2 === 0 ? edge : edge + 1)));
    for (const set of sets) set.forEach((edge, i) => cuts.add(i % 2 === 0 ? edge : edge + 1));
    const edges = [...cuts].toSorted((a, b) => a - b);
    /**
     * Derivatives by signature. The signature has a digit for each set: 1 if the set contains the
     * character.
     */
    const derivatives = new Map<string, Language>();
    for (const [i, from] of edges.entries()) {
      const end = edges[i + 1];
      if (end === undefined || from === allChars[1]! + 1) continue;
      const signature = sets.map((set) => (has(set, from) ? '1' : '0')).join('');
      const next = derivatives.get(signature) ?? this.#derive(language, from);
      derivatives.set(signature, next);
      yield { set: [from, end - 1], next };
    }
  }

  #derive(language: Language, char: number): Language {
    if (language.kind === 'empty') return this.none;
    if (language.kind === 'chars') return has(language.set, char) ? this.empty : this.none;
    const ofChar = this.#derivatives.get(char) ?? new Map<number, Language>();
    this.#derivatives.set(char, ofChar);
    const derived = ofChar.get(language.id) ?? this.#derivative(language, char);
    ofChar.set(language.id, derived);
    return derived;
  }

  #derivative({ kind, parts, min, max }: Language, char: number): Language {
    if (kind === 'concat') {
      const [first, rest] = parts as readonly [Language, Language];
      const after = this.concat(this.#derive(first, char), rest);
      return first.isNullable ? this.or([after, this.#derive(rest, char)]) : after;
    }
    const derived = parts.map((part) => this.#derive(part, char));
    if (kind === 'or') return this.or(derived);
    if (kind === 'and') return this.and(derived);
    if (kind === 'not') return this.not(derived[0]!);
    return this.concat(derived[0]!, this.repeat(parts[0]!, Math.max(min - 1, 0), max - 1));
  }
}

/** Parts whose derivatives a derivative needs. */
const neededParts = (kind: Language['kind'], parts: readonly Language[]): readonly Language[] =>
  kind === 'concat' && !parts[0]!.isNullable ? [parts[0]!] : parts;

/**
 * Collects the character sets on which derivatives of a language depend: characters that are in the
 * same of these sets have the same derivative.
 */
function firstSets(language: Language, found: Set<CharSet>): ReadonlySet<CharSet> {
  const { kind, parts, set } = language;
  if (kind === 'chars') found.add(set);
  for (const part of neededParts(kind, parts)) firstSets(part, found);
  return found;
}
