import type { GrammarSymbol, TextGrammar } from '@trinity-rft/core/engine';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';

import { packTokenBytes } from '../../model/token-bytes.js';
import { createAutomaton } from './automaton.js';
import { createConstraintFactory } from './constraint.js';

const char = (text: string): readonly number[] => [text.charCodeAt(0), text.charCodeAt(0)];
const digit: readonly number[] = [48, 57];

/** Sums in brackets: S -> T | T "+" S, T -> digit | "(" S ")". */
const sums: TextGrammar['rules'] = [
  [[1], [1, char('+'), 0]],
  [[digit], [char('('), 0, char(')')]],
];

function accepts(rules: TextGrammar['rules'], text: string): boolean {
  const machine = createAutomaton({ rules });
  let state = machine.start;
  for (const byte of Buffer.from(text)) if (state >= 0) state = machine.next(state, byte);
  return state >= 0 && machine.accepts(state);
}

/** Rules begin with a byte or with a later rule, so that none begins with itself. */
const grammars: fc.Arbitrary<TextGrammar['rules']> = fc
  .tuple(...[0, 1, 2, 3].map((rule) => fc.array(alternative(rule), { minLength: 1, maxLength: 3 })))
  .map((rules) => rules as unknown as TextGrammar['rules']);

function alternative(rule: number): fc.Arbitrary<readonly GrammarSymbol[]> {
  const byte = fc.constantFrom(char('a'), char('b'), [97, 98]);
  const later: fc.Arbitrary<GrammarSymbol> =
    rule < 3 ? fc.integer({ min: rule + 1, max: 3 }) : byte;
  const rest = fc.array(fc.oneof(byte, fc.integer({ min: 0, max: 3 })), { maxLength: 2 });
  const afterByte = fc.tuple(byte, rest).map(([first, others]) => [first, ...others]);
  return fc.oneof(afterByte, fc.array(later, { maxLength: 2 }));
}

/**
 * Every place where a text of the rule that begins at `from` can end. Without the `known` places,
 * an ambiguous grammar would take hours.
 */
function readings(
  rules: TextGrammar['rules'],
  rule: number,
  text: string,
  from: number,
  known = new Map<string, Set<number>>(),
): Set<number> {
  const key = `${rule} ${from}`;
  const found = known.get(key) ?? new Set<number>();
  if (known.has(key)) return found;
  known.set(key, found);
  for (const symbols of rules[rule]!) {
    let places = new Set([from]);
    for (const symbol of symbols) {
      const next = [...places].flatMap((at) => {
        if (typeof symbol === 'number') return [...readings(rules, symbol, text, at, known)];
        const value = text.charCodeAt(at);
        return value >= symbol[0]! && value <= symbol[1]! ? [at + 1] : [];
      });
      places = new Set(next);
    }
    for (const place of places) found.add(place);
  }
  return found;
}

describe('createAutomaton', () => {
  it.for([
    ['1', true],
    ['(1+2)+3', true],
    ['((((7))))', true],
    ['', false],
    ['1+', false],
    ['(1', false],
    ['1)', false],
    ['12', false],
  ] as const)('reads %j: %s', ([text, expected]) => {
    expect(accepts(sums, text)).toBe(expected);
  });

  it('ends with rules that lead back to themselves', () => {
    expect(
      accepts(
        [
          [[0], [1]],
          [[1], [0], [char('a')], []],
        ],
        'a',
      ),
    ).toBe(true);
    expect(accepts([[[0]]], '')).toBe(false);
  });

  it('agrees with a slow reader of every grammar', () => {
    fc.assert(
      fc.property(grammars, fc.stringMatching(/^[ab]{0,6}$/), (rules, text) => {
        expect(accepts(rules, text)).toBe(readings(rules, 0, text, 0).has(text.length));
      }),
      { numRuns: 2000 },
    );
  });

  it('costs the same for each level of a text that can be read in many ways', () => {
    const depth = 3000;
    expect(accepts(sums, `${'('.repeat(depth)}1${')'.repeat(depth)}`)).toBe(true);
  });

  it('knows states that it has seen, so that a long text costs no more than a short one', () => {
    const list: TextGrammar['rules'] = [[[], [char('a'), 0]]];
    const machine = createAutomaton({ rules: list });
    const first = machine.next(machine.start, 97);
    expect(machine.next(first, 97)).toBe(first);
  });
});

const vocabulary = ['(', ')', '+', '1', '2', '1+', '+(', '))', '(((', 'x', '', '<end>'];
const end = vocabulary.indexOf('<end>');
const grammar: TextGrammar = { rules: sums, controlTokenIds: [end] };
const factory = createConstraintFactory(
  packTokenBytes(vocabulary.map((text) => Buffer.from(text))),
  vocabulary.length,
);
const names = (mask: Uint8Array): readonly string[] => vocabulary.filter((_, id) => mask[id] === 1);

describe('createConstraintFactory', () => {
  it('allows a control token where a rule names it, and nowhere by its bytes', () => {
    const rules: TextGrammar['rules'] = [[[[256, 256], 1]], [[], [[0, 255], 1]]];
    const answer = factory.begin({ rules, controlTokenIds: [end] });
    expect(names(answer.allowed().mask)).toEqual(['<end>']);
    answer.push(end);
    expect(names(answer.allowed().mask)).toEqual(
      vocabulary.filter((text) => text !== '' && text !== '<end>'),
    );
    expect(answer.allowed().complete).toBe(true);
  });

  it('allows tokens all of whose bytes go on with the grammar', () => {
    const answer = factory.begin(grammar);
    expect(names(answer.allowed().mask)).toEqual(['(', '1', '2', '1+', '(((']);
    expect(answer.allowed().complete).toBe(false);
    answer.push(vocabulary.indexOf('('));
    answer.push(vocabulary.indexOf('1'));
    expect(names(answer.allowed().mask)).toEqual([')', '+', '+(']);
    answer.push(vocabulary.indexOf(')'));
    expect(answer.allowed()).toMatchObject({ complete: true, count: 2 });
  });

  it('lets every text of the grammar be written, and no other', () => {
    fc.assert(
      fc.property(fc.array(fc.nat(), { maxLength: 30 }), (picks) => {
        const answer = factory.begin(grammar);
        let text = '';
        for (const pick of picks) {
          const { mask, count, complete } = answer.allowed();
          expect(complete).toBe(accepts(sums, text));
          expect(count).toBe(names(mask).length);
          expect([...mask.keys()].map((id) => Number(answer.allows(id)))).toEqual([...mask]);
          expect(answer.isComplete()).toBe(complete);
          const ids = [...mask.keys()].filter((id) => mask[id] === 1);
          const token = ids[pick % ids.length]!;
          // What is not allowed would leave the grammar, whatever came after it.
          answer.push(token);
          text += vocabulary[token];
        }
        const open = text.replaceAll(/[^(]/g, '').length - text.replaceAll(/[^)]/g, '').length;
        expect(accepts(sums, `${text}${/[\d)]$/.test(text) ? '' : '1'}${')'.repeat(open)}`)).toBe(
          true,
        );
      }),
    );
  });

  it('remembers 64 MiB of masks, those that were used last', () => {
    const large = createConstraintFactory(packTokenBytes([Buffer.from('x')]), 1 << 20);
    const begin = (length: number) =>
      large.begin({ rules: [[Array(length).fill(char('x'))]], controlTokenIds: [] });
    const write = (length: number): void => {
      const answer = begin(length);
      for (let i = 0; i < length; i++) {
        answer.allowed();
        answer.push(0);
      }
    };
    const [first, second] = [begin(30).allowed().mask, begin(31).allowed().mask];
    write(40);
    expect(begin(30).allowed().mask).toBe(first);
    write(41);
    expect(begin(30).allowed().mask).toBe(first);
    expect(begin(31).allowed().mask).not.toBe(second);
  });

  it('drops the automata that were used least recently once all together are large', () => {
    const shared = createConstraintFactory(
      packTokenBytes(['(', ')'].map((x) => Buffer.from(x))),
      2,
    );
    const [a, b] = ['a', 'b'].map((letter): TextGrammar => {
      const brackets = [char('('), 0, char(')')];
      return { rules: [[brackets, [char('x')], [char(letter)]]], controlTokenIds: [] };
    }) as [TextGrammar, TextGrammar];
    const grown = (of: TextGrammar, depth: number) => {
      const answer = shared.begin(of);
      const { mask } = answer.allowed();
      for (let i = 0; i < depth; i++) answer.push(0);
      return { answer, mask };
    };
    const [ofA, ofB] = [grown(a, 20_000), grown(b, 20_000)];
    expect(shared.begin(b).allowed().mask).toBe(ofB.mask);
    expect(shared.begin(a).allowed().mask).not.toBe(ofA.mask);
    expect(shared.begin({ ...a }).allowed()).toBe(shared.begin(a).allowed());
    expect(ofA.answer.allowed().mask).toEqual(Uint8Array.of(1, 0));
    grown(b, 40_000);
    expect(shared.begin(b).allowed().mask).not.toBe(ofB.mask);
  });
});
