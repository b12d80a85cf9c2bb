/**
 * Computes properties of a grammar: the rules that may be empty, and the rules that a rule can
 * start with.
 */
import type { TextGrammar } from '@trinity-rft/core/engine';

type Rules = TextGrammar['rules'];

/** Returns the rules that match the empty string. */
export function nullableRules(rules: Rules): ReadonlySet<number> {
  const nullable = new Set<number>();
  const isNullable = (rule: number): boolean =>
    (rules[rule] ?? []).some((symbols) =>
      symbols.every((symbol) => typeof symbol === 'number' && nullable.has(symbol)),
    );
  for (let before = -1; before < nullable.size;) {
    before = nullable.size;
    rules.forEach((_, rule) => isNullable(rule) && nullable.add(rule));
  }
  return nullable;
}

/**
 * Sorts the rules such that each rule comes before the rules that it can start with. Rules that can
 * start with each other are in any order.
 */
export function rulesInOrder(rules: Rules, nullable: ReadonlySet<number>): readonly number[] {
  const seen = new Set<number>();
  const leaving: number[] = [];
  for (let first = 0; first < rules.length; first++) {
    // Depth first, without recursion, because schemas may be nested deeply.
    const path: { readonly rule: number; readonly below: number[] }[] = [];
    const enter = (rule: number): void => {
      if (seen.has(rule)) return;
      seen.add(rule);
      path.push({ rule, below: [...beginnings(rules[rule] ?? [], nullable)] });
    };
    enter(first);
    for (let top = path.at(-1); top !== undefined; top = path.at(-1)) {
      const next = top.below.pop();
      if (next !== undefined) enter(next);
      else {
        path.pop();
        leaving.push(top.rule);
      }
    }
  }
  return leaving.toReversed();
}

function beginnings(
  alternatives: Rules[number],
  nullable: ReadonlySet<number>,
): ReadonlySet<number> {
  const found = new Set<number>();
  for (const symbols of alternatives) {
    for (const symbol of symbols) {
      if (typeof symbol === 'number') found.add(symbol);
      if (typeof symbol !== 'number' || !nullable.has(symbol)) break;
    }
  }
  return found;
}
