import { TaskError } from '@trinity-rft/core';
import {
  defineEnvironment,
  nativeEnvironment,
  rowsOfSplit,
  type Judge,
  type World,
} from '@trinity-rft/environment';
import { z } from 'zod';
import { playing } from '../shared/actions.js';
import { saysAnswer } from '../shared/answers.js';
import { type FullText, fullText, mostTerms } from '../shared/full-text.js';
import { rememberLast } from '../shared/remember-last.js';
import { readRow } from '../shared/row.js';
import { end, tool, toolAction, toolWorld } from '../shared/tool-world.js';
import { createCorpus, type Page } from './corpus.js';
import { agrees } from './judge.js';
import { readFolder } from './read-folder.js';

const argsSchema = z.strictObject({
  /**
   * Difficulty. 1: 120 pages, one of which has the answer; 2: 600 pages; 3: 600 pages, two of which
   * must be read.
   */
  level: z.int().min(1).max(3).default(2),
  corpus_seed: z.int().min(0).default(0),
  /** Folder of text files to search instead. Rows then contain a question and its answer. */
  folder: z.string().optional(),
});
type Args = z.infer<typeof argsSchema>;

const corpusFor = rememberLast(createCorpus);
const corpusOf = ({ level, corpus_seed: seed }: Args) => corpusFor(level === 1 ? 40 : 200, seed);

const rowSchema = z.object({
  question: z.string(),
  answer: z.string(),
  hops: z.array(z.string()).default([]),
});

/** Questions that are answered by searching a local index instead of the web. */
export const webSearch = defineEnvironment({
  name: 'web_search',
  description: 'Search and read pages of a local index to answer a question.',
  args: argsSchema,
  rows: rowSchema,
  play: { maxTurns: 10, reward: 'sum' },
  judged: true,
  open: async (args) => {
    const pages = args.folder === undefined ? corpusOf(args).pages : await readFolder(args.folder);
    const index = fullText(pages.map(({ id, title, text }) => ({ id, text: `${title} ${text}` })));
    const byId = new Map(pages.map((page) => [page.id, page]));
    return nativeEnvironment(
      ({ row, judge }) => {
        const { question, answer } = readRow(rowSchema, row, 'web_search');
        return searchWorld({ index, byId, question, answer, judge });
      },
      () => index.close(),
    );
  },
  tasks: (range, args) => {
    if (args.folder !== undefined) throw rowsNeeded();
    const questions = corpusOf(args).questions[args.level === 3 ? 1 : 0] ?? [];
    return rowsOfSplit(
      range,
      (seed) => ({ ...questions[seed % questions.length] }),
      ({ question }) => String(question),
    );
  },
  solver: ({ row }, args) => {
    const { hops, answer } = readRow(rowSchema, row, 'web_search');
    const { pages } = corpusOf(args);
    const steps = hops.flatMap((title) => [
      toolAction('search', { query: title }),
      toolAction('open', { id: pages.find((page) => page.title === title)?.id ?? '' }),
    ]);
    return playing([...steps, toolAction('answer', { answer })]);
  },
});

const rowsNeeded = () =>
  new TaskError(
    'With environment_args.folder, web_search does not generate tasks. Write a task set of rows with question and answer.',
    { code: 'TASK_ROW' },
  );

interface SearchOptions {
  readonly index: FullText;
  readonly byId: ReadonlyMap<string, Page>;
  readonly question: string;
  readonly answer: string;
  readonly judge: Judge | undefined;
}

function searchWorld({ index, byId, question, answer, judge }: SearchOptions): World {
  const opened = new Set<string>();
  const finish = async (given: string) =>
    end(
      Number(
        judge === undefined || given === ''
          ? saysAnswer(given, answer)
          : await judge.ask(agrees({ question, correct: answer, response: given })),
      ),
    );
  return toolWorld({
    instructions:
      'You answer questions by searching and reading pages. When you know the answer, call the tool answer, with the bare answer.',
    observation: question,
    tools: [
      tool({
        name: 'search',
        description: `Finds pages by words, of which the first ${mostTerms} count: at most five pages, the best first, each with its beginning.`,
        args: z.object({ query: z.string() }),
        run: ({ query }) => {
          const hits = index.search([query], 'any', 5).flatMap((id) => byId.get(id) ?? []);
          return JSON.stringify(
            hits.map(({ id, title, text }) => ({ id, title, text: text.slice(0, 40) })),
          );
        },
      }),
      tool({
        name: 'open',
        description: 'Reads a page.',
        args: z.object({ id: z.string() }),
        run: ({ id }) => {
          const page = byId.get(id);
          if (page === undefined) return `There is no page ${id}.`;
          opened.add(id);
          return `${page.title}\n${page.text.slice(0, 4000)}`;
        },
      }),
      tool({
        name: 'answer',
        description: 'Gives the answer and ends the task.',
        args: z.object({ answer: z.string() }),
        run: (given) => finish(given.answer),
      }),
    ],
    say: finish,
    stateKey: () => JSON.stringify([...opened].toSorted()),
  });
}
