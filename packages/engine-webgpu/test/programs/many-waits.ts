/**
 * Waits thousands of times with garbage collections between. The environment variable `WAITS` is the number of waits.
 */
import { open } from '../support/open.js';

const opened = await open();
const waits = Number(process.env['WAITS']);
for (let i = 0; i < waits; i++) {
  if (i % 1000 === 0) globalThis.gc?.();
  await opened.wait(() => opened.device.queue.onSubmittedWorkDone());
}
await opened.close();
process.stdout.write(`waited ${waits} times`);
