/** Workflow that runs the Python program, which prints its reward. */
import path from 'node:path';
import { WorkflowError } from '@trinity-rft/core';
import { processWorkflow } from '@trinity-rft/process';

const program = path.join(import.meta.dirname, '..', 'agent', 'agent.py');

export const workflow = processWorkflow({
  name: 'react_agent',
  command: ({ task }) => ({
    command: process.env['AGENTSCOPE_PYTHON'] ?? 'python3',
    args: [program],
    input: JSON.stringify(task.rawTask),
  }),
  score: ({ text }) => {
    const reward = text === '' ? Number.NaN : Number(text);
    if (Number.isFinite(reward)) return reward;
    throw new WorkflowError(
      `${program} printed "${text}"; expected its reward, a number. Print all else to standard error.`,
    );
  },
});
