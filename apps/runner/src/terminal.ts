/** Standard output as the launcher sees it. */
import type { Terminal } from '@trinity-rft/launcher';

export function standardTerminal(): Terminal {
  const { stdout } = process;
  return {
    write: (text) => void stdout.write(text),
    isTTY: stdout.isTTY === true,
    columns: () => stdout.columns ?? 80,
  };
}
