/** Trains the program: `trinity run --plugin-dir frameworks/process`. */
import path from 'node:path';
import { processWorkflow } from '@trinity-rft/process';

const program = path.join(import.meta.dirname, 'agent', 'calculator-agent.mjs');

export const workflow = processWorkflow({
  name: 'process',
  command: ({ question }) => ({ command: process.execPath, args: [program, question] }),
});
