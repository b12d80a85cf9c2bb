/** Parses JSON from untrusted sources. */
import { parseJsonExactly } from '@trinity-rft/core/support';

/** Deepest allowed nesting of objects and lists. */
const mostLevels = 200;

/**
 * Parses a JSON string.
 * @throws Error if the string is not JSON, or nested so deeply that recursive code would exhaust
 * the stack
 */
export function parseJson(text: string): unknown {
  const value = parseJsonExactly(text);
  // Checks the nesting level by level, because a recursive check could exhaust the stack.
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > mostLevels) throw new RangeError(`it has more than ${mostLevels} levels`);
    level = level.flatMap((one) =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    );
  }
  return value;
}
