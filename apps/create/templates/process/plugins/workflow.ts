/** The program as a workflow: it is started for every rollout, and its output is scored. */
import path from 'node:path';
import { processWorkflow } from '@trinity-rft/process';

const program = path.join(import.meta.dirname, '..', 'agent', 'agent.mjs');

export const calculator = processWorkflow({
  name: 'calculator',
  command: ({ question }) => ({ command: process.execPath, args: [program, question] }),
});
