/** Provides standard output as the terminal of a training run. */
import { asTyped, ownCommand } from '@trinity-rft/core/support';
import type { Terminal } from '@trinity-rft/monitor';

/**
 * Returns the terminal of this process. It writes commands of the program in the form in which the
 * user can type them.
 */
export function standardTerminal(): Terminal {
  const { stdout, env } = process;
  const command = ownCommand(env);
  return {
    write: (text) => void stdout.write(asTyped(text, command)),
    isTTY: stdout.isTTY === true,
    columns: () => stdout.columns ?? 80,
  };
}
