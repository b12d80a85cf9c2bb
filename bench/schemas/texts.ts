/** Random texts of a grammar. */
import type { Random } from '../../packages/core/src/index.ts';
import type { GrammarSymbol, TextGrammar } from '../../packages/core/src/engine-seam.ts';

type Rules = TextGrammar['rules'];

/** Number of symbols after which only the shortest way to the end is taken. */
const maxSymbols = 400;

/** Draws texts of the grammar; every text has a positive probability. */
export function createTexts({ rules }: TextGrammar): (random: Random) => string {
  const lengths = shortest(rules);
  const lengthOf = (symbols: readonly GrammarSymbol[]): number =>
    symbols.reduce<number>(
      (sum, symbol) => sum + (typeof symbol === 'number' ? lengths[symbol]! : 1),
      0,
    );
  const brief = rules.map((options) => options.toSorted((a, b) => lengthOf(a) - lengthOf(b))[0]);
  return (random) => {
    const bytes: number[] = [];
    const open: GrammarSymbol[] = [0];
    for (let steps = 0; open.length > 0; steps++) {
      const symbol = open.pop()!;
      if (typeof symbol !== 'number') bytes.push(byteOf(symbol, random));
      else {
        const options = rules[symbol]!;
        const chosen = steps < maxSymbols ? options[random.integer(options.length)] : brief[symbol];
        open.push(...chosen!.toReversed());
      }
    }
    return Buffer.from(bytes).toString('utf8');
  };
}

function byteOf(ranges: readonly number[], random: Random): number {
  const at = 2 * random.integer(ranges.length / 2);
  const [from = 0, to = 0] = ranges.slice(at, at + 2);
  return from + random.integer(to - from + 1);
}

/** Number of bytes of the shortest text of each rule. */
function shortest(rules: Rules): readonly number[] {
  const lengths = rules.map(() => Infinity);
  const users = rules.map((): number[] => []);
  rules.forEach((options, rule) => {
    for (const symbol of options.flat()) if (typeof symbol === 'number') users[symbol]!.push(rule);
  });
  const open = [...rules.keys()];
  for (let rule = open.pop(); rule !== undefined; rule = open.pop()) {
    for (const symbols of rules[rule]!) {
      let length = 0;
      for (const symbol of symbols) length += typeof symbol === 'number' ? lengths[symbol]! : 1;
      if (length >= lengths[rule]!) continue;
      lengths[rule] = length;
      open.push(...users[rule]!);
    }
  }
  return lengths;
}
