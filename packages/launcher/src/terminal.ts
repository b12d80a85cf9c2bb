/** Standard output as the terminal of a run. */
import { asTyped, ownCommand } from '@trinity-rft/core/support';
import type { Terminal } from '@trinity-rft/monitor';

/** Terminal of this process. Commands in texts appear as the user can type them. */
export function standardTerminal(): Terminal {
  const { stdout, env } = process;
  const command = ownCommand(env);
  return {
    write: (text) => void stdout.write(asTyped(text, command)),
    isTTY: stdout.isTTY === true,
    columns: () => stdout.columns ?? 80,
  };
}
