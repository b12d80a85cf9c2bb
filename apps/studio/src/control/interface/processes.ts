/** Schemas and route of a run's processes and their waits. */
import type { Routes } from '@trinity-rft/inspect/studio';
import { z } from 'zod';

const wait = z.object({
  what: z.string().describe('Noun phrase shown after "waits for".'),
  on: z
    .string()
    .optional()
    .describe('Name or role of a worker; absent for something outside the run.'),
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
    .describe('State of the operating system process, if it is on this machine.'),
  isAlive: z.boolean().describe('False if other workers may take its tasks and its place.'),
  silentForMs: z.number(),
  version: z.int().describe('Version of its weights; below 0 before the first.'),
  waits: z.array(wait),
  tasks: z.array(z.string()).describe('Tasks in progress, as `batch/task`.'),
  problem: z.string().optional().describe('Reason why it refuses new weights.'),
});

const link = z.object({
  role: z.string(),
  name: z.string().optional().describe('Name of the process; absent if no process has the role.'),
  asked: wait.optional().describe('Wait of the previous link for this one.'),
  state: z.enum(['waits', 'silent', 'works', 'missing', 'outside', 'circle']),
});

export const processes = z.object({
  problem: z.string().optional().describe('Reason why there is no status, such as no process.'),
  members: z.array(member),
  chains: z
    .array(z.array(link))
    .describe('Wait chains, each from a waiting process to its root cause, longest wait first.'),
  trainStep: z.int().optional(),
  exploreStep: z.int().optional(),
  staleness: z.int().optional(),
  endedAt: z.int().optional().describe('Last train step of a complete run.'),
});

export const processRoutes = {
  '/api/runs/{run}/processes': {
    summary: 'Processes of a run and their waits, as in `trinity status` and `trinity why`.',
    query: {},
    answer: processes,
  },
} satisfies Routes;
