/** Configurations: found, checked, kept, started. */
import { text, type Actions, type Routes } from '@trinity-rft/inspect/studio';
import { z } from 'zod';

const fileName = z
  .string()
  .max(500)
  .describe('A YAML file, by its path below the working directory of the studio.');

export const foundFiles = z.object({
  folder: z.string().describe('The working directory of the studio.'),
  files: z.array(fileName),
});

export const openedFile = z.object({
  text: z.string(),
  digest: z.string().describe('Of the file as it is; a save names it.'),
  command: z.string().describe('What a start does, as one would type it.'),
});

export const template = z.object({
  name: z.string(),
  title: z.string(),
  about: z.string(),
  needs: z.string().describe('Files and programs that it takes.'),
  text: z.string(),
});

const configText = z.string().max(500_000);

const problemAt = z.object({
  line: z.int().describe('From 1; 0: not in the file.'),
  column: z.int(),
  key: z.string().describe('`buffer.batch_size`; empty: not about a key.'),
  message: z.string(),
});

export const checked = z.object({
  problems: z.array(problemAt),
  warnings: z.array(z.string()),
  plan: z.string().optional().describe('What would run, as text.'),
  jobDirectory: z.string().optional(),
});

export const saved = z.object({ digest: z.string(), command: z.string() });

export const started = z.object({
  id: z.string(),
  file: z.string(),
  pid: z.int(),
  startedAt: z.number(),
  exitCode: z.int().nullable().optional().describe('Absent: it goes on. Null: it was killed.'),
  output: z.string().describe('The end of what it wrote.'),
});

const stopped = z.object({ pid: z.int() });

export const checkBody = z.object({ file: fileName, text: configText });
export const saveBody = checkBody.extend({
  digest: z.string().optional().describe('Of the file as it was read; absent: it is new.'),
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
    summary: 'A configuration.',
    query: { file: text('One of those that are listed.') },
    answer: openedFile,
  },
  '/api/builder/templates': {
    summary: 'Configurations to begin with.',
    query: {},
    answer: z.array(template),
  },
  '/api/builder/schema': {
    summary: 'The JSON Schema of a configuration, without conditions.',
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
    summary: 'What `trinity config plan` says of a text. It loads the plugins that the text names.',
    body: checkBody,
    answer: checked,
  },
  '/api/actions/builder/save': {
    summary: 'Writes a configuration, unless it has changed since it was read.',
    body: saveBody,
    answer: saved,
  },
  '/api/actions/builder/start': {
    summary: 'Starts `trinity run FILE`, as a process of its own. It resumes a run that has begun.',
    body: startBody,
    answer: started,
  },
  '/api/actions/runs/{run}/stop': {
    summary:
      'Asks the process of a run to finish its step, to save, and to end; again: to end at once.',
    body: nothing,
    answer: stopped,
  },
  '/api/actions/runs/{run}/resume': {
    summary: 'Starts the configuration that the run was started from.',
    body: nothing,
    answer: started,
  },
} satisfies Actions;
