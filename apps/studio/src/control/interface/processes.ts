/** Waits between processes. */
import type { Routes } from '@trinity-rft/inspect/studio';
import { z } from 'zod';

const wait = z.object({
  what: z.string().describe('What is waited for.'),
  on: z
    .string()
    .optional()
    .describe('Name or role of a member; absent: something outside the run.'),
  forMs: z.number(),
});

const member = z.object({
  name: z.string(),
  role: z.string(),
  host: z.string(),
  pid: z.int(),
  health: z.enum(['working', 'waiting', 'silent', 'left']),
  process: z
    .enum(['running', 'stopped', 'gone'])
    .optional()
    .describe('What the system says of it, if it is on this machine.'),
  isAlive: z.boolean().describe('Others may not take its tasks and its place.'),
  silentForMs: z.number(),
  version: z.int().describe('Of the weights that it uses; below 0: none yet.'),
  waits: z.array(wait),
  tasks: z.array(z.string()).describe('What it works on, `batch/task`.'),
  problem: z.string().optional().describe('Why it refuses new weights.'),
});

const link = z.object({
  role: z.string(),
  name: z.string().optional().describe('Of a process; absent: no process has that role.'),
  asked: wait.optional().describe('What the link before waits for from it.'),
  state: z.enum(['waits', 'silent', 'works', 'missing', 'outside', 'circle']),
});

export const processes = z.object({
  problem: z.string().optional().describe('Why there is nothing to see, such as no process.'),
  members: z.array(member),
  chains: z
    .array(z.array(link))
    .describe('From one that waits to the first cause, longest wait first.'),
  trainStep: z.int().optional(),
  exploreStep: z.int().optional(),
  staleness: z.int().optional(),
  endedAt: z.int().optional().describe('The last train step of a run that is complete.'),
});

export const processRoutes = {
  '/api/runs/{run}/processes': {
    summary: 'What `trinity status` and `trinity why` say: the processes of a run, and its waits.',
    query: {},
    answer: processes,
  },
} satisfies Routes;
