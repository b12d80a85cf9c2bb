#!/usr/bin/env node
/** Entry point of the `trinity` executable. */
import { main } from './main.js';

// A reader that goes away (`trinity run | head`) takes the progress with it, not the run.
for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);

const exitCode = await main(process.argv.slice(2));
// What a user's agent has left open (timers, sockets) does not keep the process alive; what was
// printed still goes out.
process.stdout.write('', () => process.stderr.write('', () => process.exit(exitCode)));
