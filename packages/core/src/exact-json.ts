/** JSON whose whole numbers keep their digits. */

/** Literals without a fraction or exponent: `1e20` is a float in every language. */
const wholeNumber = /^-?\d+$/;

/**
 * Parses like `JSON.parse`, but whole numbers outside of +-(2^53 - 1) become what `big` makes of their
 * digits: rounding them would make two ids one.
 * @param big @default the digits as a text, as readers of Parquet and SQL give them
 */
export function parseJsonExactly(
  text: string,
  big: (digits: string) => unknown = (digits) => digits,
): unknown {
  // A reviver takes several times as long as none.
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
