#!/usr/bin/env node
/** Entry point of the `trinity` executable. */
// This package refuses a Node that is too old; the others may not even load there.
await import('@trinity-rft/core').catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
// Compiled code is kept in the folder for temporary files: the next start is faster.
const { enableCompileCache } = await import('node:module');
// Deno has none.
(enableCompileCache as typeof enableCompileCache | undefined)?.();
if (['serve', 'studio', 'view'].includes(process.argv[2] ?? '')) {
  const { restartWithServerFlags } = await import('./shared/server-flags.js');
  restartWithServerFlags();
}
const { main } = await import('./main.js');

// A reader that goes away (`trinity run | head`) takes the progress with it, not the run.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

const exitCode = await main(process.argv.slice(2));
// What a user's agent has left open (timers, sockets) does not keep the process alive; what was
// printed still goes out.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
