/** JSON of unknown origin. */
import { parseJsonExactly } from '@trinity-rft/core/support';

/** Objects and lists in each other, at most. */
const mostLevels = 200;

/** @throws Error for text that is not JSON, or so deeply nested that code which walks it would exhaust the stack */
export function parseJson(text: string): unknown {
  const value = parseJsonExactly(text);
  // Level by level, for the same reason.
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > mostLevels) throw new RangeError(`it has more than ${mostLevels} levels`);
    level = level.flatMap((one) =>
      typeof one === 'object' && one !== null ? Object.values(one) : [],
    );
  }
  return value;
}
