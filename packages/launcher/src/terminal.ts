/** Standard output as a run sees it. */
import type { Terminal } from '@trinity-rft/monitor';

/** The terminal of this process. */
export function standardTerminal(): Terminal {
  const { stdout } = process;
  return {
    write: (text) => void stdout.write(text),
    isTTY: stdout.isTTY === true,
    columns: () => stdout.columns ?? 80,
  };
}
