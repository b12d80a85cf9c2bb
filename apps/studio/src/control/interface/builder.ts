/** Schemas and routes of configurations and of the processes that run them. */
import { count, type Actions, type Routes } from '@trinity-rft/inspect/studio';
import { z } from 'zod';

const fileName = z
  .string()
  .max(500)
  .describe('Path of a YAML file, relative to the working directory of the studio.');

export const foundFiles = z.object({
  folder: z.string().describe('Working directory of the studio.'),
  files: z.array(fileName),
  unreadable: z.array(fileName).describe('YAML files that cannot be read, at most 20.'),
  moreUnreadable: count.describe('Number of further files that cannot be read.'),
});

export const openedFile = z.object({
  text: z.string(),
  digest: z.string().describe('Digest of the file, to pass when saving it.'),
  command: z.string().describe('Shell command that a start runs.'),
});

export const template = z.object({
  name: z.string(),
  title: z.string(),
  about: z.string(),
  needs: z.string().describe('Required files and programs.'),
  text: z.string(),
});

const configText = z.string().max(500_000);

const problemAt = z.object({
  line: z.int().describe('Line from 1; 0 if the problem is not in the file.'),
  column: z.int(),
  key: z.string().describe('Key such as `buffer.batch_size`; empty if it concerns no key.'),
  message: z.string(),
});

export const checked = z.object({
  problems: z.array(problemAt),
  warnings: z.array(z.string()),
  plan: z.string().optional().describe('Plan of the run as text.'),
  jobDirectory: z.string().optional(),
});

export const saved = z.object({ digest: z.string(), command: z.string() });

export const started = z.object({
  id: z.string(),
  file: z.string(),
  pid: z.int(),
  startedAt: z.number(),
  exitCode: z.int().nullable().optional().describe('Absent while it runs; null if it was killed.'),
  output: z.string().describe('End of its output.'),
});

const stopped = z.object({ pid: z.int() });

export const checkBody = z.object({ file: fileName, text: configText });
export const saveBody = checkBody.extend({
  digest: z.string().optional().describe('Digest of the file as read; absent for a new file.'),
});
export const startBody = z.object({ file: fileName });
export const nothing = z.object({});

export const builderRoutes = {
  '/api/builder/files': {
    summary: 'Configurations below the working directory of the studio.',
    query: {},
    answer: foundFiles,
  },
  '/api/builder/file': {
    summary: 'Text of a configuration.',
    query: { file: z.string().describe('Path of a listed file.') },
    answer: openedFile,
  },
  '/api/builder/templates': {
    summary: 'Templates of configurations.',
    query: {},
    answer: z.array(template),
  },
  '/api/builder/schema': {
    summary: 'JSON Schema of a configuration, without conditions.',
    query: {},
    answer: z.record(z.string(), z.unknown()),
  },
  '/api/builder/started': {
    summary: 'Runs that this studio has started, the last one first.',
    query: {},
    answer: z.array(started),
  },
} satisfies Routes;

export const builderActions = {
  '/api/actions/builder/check': {
    summary:
      'Checks the text of a configuration as `trinity config plan` does, and loads the plugins that it names.',
    body: checkBody,
    answer: checked,
  },
  '/api/actions/builder/save': {
    summary: 'Writes a configuration, unless it has changed since it was read.',
    body: saveBody,
    answer: saved,
  },
  '/api/actions/builder/start': {
    summary: 'Starts or resumes a run: `trinity run FILE` in a separate process.',
    body: startBody,
    answer: started,
  },
  '/api/actions/runs/{run}/stop': {
    summary: 'Stops a run after its step and a checkpoint; the second request ends it at once.',
    body: nothing,
    answer: stopped,
  },
  '/api/actions/runs/{run}/resume': {
    summary: 'Resumes a run with its configuration.',
    body: nothing,
    answer: started,
  },
} satisfies Actions;
