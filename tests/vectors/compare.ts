// Compares what a function gives with what a vector states.

/** Tolerance of losses, KL and metrics, because Trinity-RFT computed them in float32. */
const tolerance = 1e-5;
/** Tolerance of advantages. */
export const advantageTolerance = 1e-4;

/**
 * Compares two values. Numbers must agree to `limit`, absolute or relative to the expected number, lists in length and
 * order, and objects in the expected keys. Undefined expectations are not compared.
 * @throws RangeError naming the first place that differs
 */
export function expectSame(
  actual: unknown,
  expected: unknown,
  limit = tolerance,
  place = '',
): void {
  if (expected === undefined) return;
  if (typeof expected === 'number' && typeof actual === 'number') {
    if (Math.abs(actual - expected) <= limit * Math.max(1, Math.abs(expected))) return;
  } else if (isList(expected) && isList(actual)) {
    if (actual.length !== expected.length)
      throw differs(`${place}.length`, actual.length, expected.length);
    for (let i = 0; i < expected.length; i++)
      expectSame(actual[i], expected[i], limit, `${place}[${i}]`);
    return;
  } else if (
    typeof expected === 'object' &&
    expected !== null &&
    typeof actual === 'object' &&
    actual !== null
  ) {
    for (const [key, value] of Object.entries(expected)) {
      expectSame(
        (actual as Record<string, unknown>)[key],
        value,
        limit,
        place === '' ? key : `${place}.${key}`,
      );
    }
    return;
  } else if ((expected ?? null) === (actual ?? null)) return;
  throw differs(place, actual, expected);
}

function isList(value: unknown): value is ArrayLike<unknown> {
  return Array.isArray(value) || (ArrayBuffer.isView(value) && !(value instanceof DataView));
}

function differs(place: string, actual: unknown, expected: unknown): RangeError {
  return new RangeError(
    `${place === '' ? 'the value' : place} is ${JSON.stringify(actual)}; expected ${JSON.stringify(expected)}`,
  );
}
