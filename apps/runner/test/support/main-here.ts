import { main } from '../../src/main.js';

export interface EndedHere {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a command line in this process. */
export async function mainHere(...args: readonly string[]): Promise<EndedHere> {
  const texts = { stdout: '', stderr: '' };
  const exitCode = await main(args, {
    out: (text) => void (texts.stdout += text),
    err: (text) => void (texts.stderr += text),
  });
  return { exitCode, ...texts };
}
