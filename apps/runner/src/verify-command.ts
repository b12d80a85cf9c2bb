/** `trinity verify`: are the recorded log-probabilities those of the weights that sampled? */
import { ConfigError } from '@trinity-rft/core';
import { renderVerification, verifyRun } from '@trinity-rft/launcher';
import { exitCodes } from './exit-codes.js';
import { allPluginDirs } from './plugin-dirs.js';

/** Resolves with 0 when all that could be checked is within the tolerance, else 1. */
export async function verifyCommand(
  run: string,
  { tolerance, pluginDir }: { readonly tolerance: string; readonly pluginDir: readonly string[] },
  write: (text: string) => void,
): Promise<number> {
  const value = Number(tolerance);
  if (!(value >= 0))
    throw new ConfigError(
      `--tolerance is "${tolerance}". Expected a number of at least 0, such as 1e-5.`,
      { code: 'ARGUMENT_INVALID' },
    );
  const verification = await verifyRun({
    run,
    tolerance: value,
    pluginDirs: allPluginDirs(pluginDir),
  });
  write(renderVerification(verification));
  return verification.ok ? exitCodes.done : exitCodes.failed;
}
