/** Clean-up after a test file, for modules that several test files share. */

type CleanUp = () => unknown;

const cleanUps: CleanUp[] = [];

/**
 * Calls `cleanUp` after the last test of the file that runs. Vitest loads a shared module once for
 * all test files of a process, so that an `afterAll` in the module would apply to the first file
 * only.
 */
export function afterFile(cleanUp: CleanUp): void {
  cleanUps.push(cleanUp);
}

/** Called after each test file. Cleans up in reverse order. */
export async function endFile(): Promise<void> {
  for (const cleanUp of cleanUps.splice(0).toReversed()) await cleanUp();
}
