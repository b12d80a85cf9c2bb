/** Multiplies: `12*34` gives `408`, everything else `error`. */
export function multiply(expression: string): string {
  const factors = /^(\d+)\*(\d+)$/.exec(expression);
  return factors ? String(Number(factors[1]) * Number(factors[2])) : 'error';
}
