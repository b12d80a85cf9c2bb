/** Trains the Python program: `trinity run --plugin-dir frameworks/python`. */
import path from 'node:path';
import { processWorkflow } from '@trinity-rft/process';

const program = path.join(import.meta.dirname, 'agent', 'calculator_agent.py');

export const workflow = processWorkflow({
  name: 'python',
  command: ({ question }) => ({ command: 'python3', args: [program, question] }),
});
