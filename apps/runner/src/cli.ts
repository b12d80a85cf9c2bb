#!/usr/bin/env node
/** Entry point of the `trinity` executable. */
// Imports core first, which fails with a message if Node.js is too old. Other packages may not even
// load on such a version.
await import('@trinity-rft/core').catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exit(1);
});
// Keeps compiled code in the folder for temporary files, to make the next start faster.
const { enableCompileCache } = await import('node:module');
// Deno lacks this function.
(enableCompileCache as typeof enableCompileCache | undefined)?.();
if (['serve', 'studio', 'view'].includes(process.argv[2] ?? '')) {
  const { restartWithServerFlags } = await import('./shared/server-flags.js');
  restartWithServerFlags();
}
const { main } = await import('./main.js');

// A reader that ends early (`trinity run | head`) must not end the run, so write errors are
// ignored.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

const exitCode = await main(process.argv.slice(2));
// Exits explicitly, because timers and sockets that a user's agent left open would keep the process
// alive. The output is flushed first.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
