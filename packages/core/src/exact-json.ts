/** JSON parsing that keeps every digit of whole numbers. */

/**
 * Matches numbers without a fraction and without an exponent. `1e20` is a float in every language.
 */
const wholeNumber = /^-?\d+$/;

/**
 * Parses like `JSON.parse`, but passes whole numbers outside of +-(2^53 - 1) to `big`, because
 * rounding could make two ids equal.
 * @param big converts the digits of such a number. @default returns the digits as text, as the
 * readers of Parquet and SQL do
 */
export function parseJsonExactly(
  text: string,
  big: (digits: string) => unknown = (digits) => digits,
): unknown {
  // Parsing with a reviver takes several times as long.
  if (!/\d{16}/.test(text)) return JSON.parse(text);
  return JSON.parse(text, (_key, value: unknown, context?: { readonly source?: string }) => {
    const source = context?.source;
    return typeof value === 'number' &&
      !Number.isSafeInteger(value) &&
      source &&
      wholeNumber.test(source)
      ? big(source)
      : value;
  });
}
