/**
 * Finds chained comparisons, such as `a < b < c`. They are searched in the tokens, because the
 * parser returns the same tree as for `(a < b) < c`.
 */

interface Token {
  readonly type: string;
  readonly value: string;
}

const separators: ReadonlySet<string> = new Set(['Comma', 'Colon', 'Equals']);
const separatingWords: ReadonlySet<string> = new Set(['and', 'or', 'if', 'elif', 'else']);

/**
 * Throws if a template contains a chained comparison. The parser would read `a < b < c` as `(a < b)
 * < c`; in Python it means `a < b and b < c`.
 * @throws Error naming the operator
 */
export function refuseChains(tokens: readonly Token[]): void {
  /** For each open bracket, true if the current operand already contains a comparison. */
  const compared: boolean[] = [];
  let isLoop = false;
  tokens.forEach(({ type, value }, i) => {
    const isWord = type === 'Identifier' && tokens[i - 1]?.type !== 'Dot';
    if (type.startsWith('Open')) compared.push(false);
    else if (type.startsWith('Close')) compared.pop();
    else if (separators.has(type) || (isWord && separatingWords.has(value)))
      compared[compared.length - 1] = false;
    else if (isWord && value === 'for') isLoop = tokens[i - 1]?.type === 'OpenStatement';
    else if (isWord && value === 'in' && isLoop) isLoop = false;
    else if (type === 'ComparisonBinaryOperator' || (isWord && value === 'in')) {
      if (compared.at(-1))
        throw new Error(
          `a chain of comparisons (at ${value}) is not supported. Join them with "and", or use parentheses`,
        );
      compared[compared.length - 1] = true;
    }
  });
}
