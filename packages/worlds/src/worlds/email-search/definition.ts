import { type RawTask, TaskError } from '@trinity-rft/core';
import {
  defineEnvironment,
  nativeEnvironment,
  rowsOfSplit,
  type Judge,
  type StepResult,
  type World,
} from '@trinity-rft/environment';
import { z } from 'zod';
import { playing } from '../shared/actions.js';
import { saysAnswer } from '../shared/answers.js';
import { mostTerms } from '../shared/full-text.js';
import { readRow } from '../shared/row.js';
import { end, tool, toolAction, toolWorld } from '../shared/tool-world.js';
import { acceptsAnswer } from './judge.js';
import { createMailbox, inbox, type Mailbox } from './mailbox.js';
import { rubricScore } from './score.js';

const argsSchema = z.strictObject({
  /** Difficulty, by number of messages in the mailbox. 1: 60; 2: 400; 3: 1,600. */
  level: z.int().min(1).max(3).default(2),
  mailbox_seed: z.int().min(0).default(0),
  /**
   * Reward. 'strict': 1 or 0; 'rubric': Trinity-RFT's reward, which also depends on whether the
   * policy found, read and cited the right message.
   */
  scoring: z.enum(['strict', 'rubric']).default('strict'),
  /** Number of turns for the rubric's speed bonus, which shrinks as an episode approaches it. */
  max_turns: z.int().min(1).default(10),
  /** Maximum length of an observation, in characters. Longer observations are truncated. */
  observation_limit: z.int().min(1).default(2000),
});
type Args = z.infer<typeof argsSchema>;

const counts = [60, 400, 1600];
const mailboxOf = ({ level, mailbox_seed: seed }: Args): Mailbox =>
  createMailbox(counts[level - 1] ?? 400, seed);

const rowSchema = z.object({
  question: z.string(),
  answer: z.string(),
  message_ids: z.array(z.string()).default([]),
  inbox_address: z.string().default(inbox),
  query_date: z.iso.date().default('2024-12-31'),
});
type Row = z.infer<typeof rowSchema>;

/** Questions about a mailbox, modelled on ART·E and Trinity-RFT's `email_search_workflow`. */
export const emailSearch = defineEnvironment({
  name: 'email_search',
  description: 'Search and read a mailbox to answer a question about it.',
  args: argsSchema,
  rows: rowSchema,
  play: { maxTurns: 10, reward: 'sum' },
  judged: true,
  open: (args) => {
    const mailbox = mailboxOf(args);
    return nativeEnvironment(
      ({ row, judge }) =>
        searchWorld(mailbox, readRow(rowSchema, row, 'email_search'), { ...args, judge }),
      () => mailbox.close(),
    );
  },
  tasks: (range, args) => {
    const mailbox = mailboxOf(args);
    mailbox.close();
    const { emails } = mailbox;
    return rowsOfSplit(
      range,
      (seed) => rowOf(emails[seed % emails.length]),
      ({ question }) => String(question),
    );
  },
  solver: ({ row }) => {
    const { question, answer, message_ids: ids } = readRow(rowSchema, row, 'email_search');
    const keywords = (question.match(/\b[A-Z]\w+/g) ?? []).slice(1);
    return playing([
      toolAction('search_emails', { keywords }),
      toolAction('read_email', { message_id: ids[0] ?? '' }),
      toolAction('generate_response', { answer, sources: ids }),
    ]);
  },
});

const rowOf = (email: Mailbox['emails'][number] | undefined): RawTask => ({
  question: email?.question,
  answer: email?.answer,
  message_ids: [email?.messageId],
  inbox_address: inbox,
  query_date: '2024-12-31',
});

interface Grading extends Args {
  readonly judge: Judge | undefined;
}

function searchWorld(mailbox: Mailbox, row: Row, args: Grading): World {
  const missing = row.message_ids.find((id) => mailbox.find(id) === undefined);
  if (missing !== undefined)
    throw new TaskError(
      `The mailbox of email_search has no message ${missing}: it is generated, and not that of Enron. Set storage_type: generated.`,
      { code: 'TASK_ROW' },
    );
  const found = new Set<string>();
  const read = new Set<string>();
  let turns = 0;
  const { judge, scoring } = args;
  const isAccepted = async (answer: string): Promise<boolean> =>
    judge === undefined
      ? saysAnswer(answer, row.answer)
      : judge.ask(acceptsAnswer({ question: row.question, reference: row.answer, answer }));
  const finish = async (given: string, sources: readonly string[]): Promise<StepResult> => {
    const answer =
      given === '' || /^i (?:don['’]?t|do not) know[.!]?$/i.test(given) ? undefined : given;
    const isRight = answer !== undefined && (await isAccepted(answer));
    return end(scoreOf(answer, isRight, sources));
  };
  const scoreOf = (
    answer: string | undefined,
    isRight: boolean,
    sources: readonly string[],
  ): number => {
    if (scoring === 'strict') return Number(isRight);
    const gold = row.message_ids[0] ?? '';
    return rubricScore({
      answer,
      isRight,
      sources,
      found,
      read,
      gold,
      turns,
      maxTurns: args.max_turns,
    });
  };
  const world = toolWorld({
    instructions: `You answer questions about a mailbox. Search it and read messages; when you know the answer, call generate_response.
The mailbox is that of ${row.inbox_address}. Today is ${row.query_date}.`,
    observation: row.question,
    tools: [
      tool({
        name: 'search_emails',
        description: `Finds messages that contain all keywords, of which the first ${mostTerms} count: at most ten messages, the newest first.`,
        args: z.object({
          keywords: z.array(z.string()).min(1),
          inbox_address: z.string().optional(),
          query_date: z.string().optional(),
        }),
        run: ({ keywords }) => {
          const hits = mailbox.search(keywords, row.query_date);
          for (const { messageId } of hits) found.add(messageId);
          return JSON.stringify(
            hits.map(({ messageId, date, from, subject }) => ({
              message_id: messageId,
              date,
              from,
              subject,
            })),
          );
        },
      }),
      tool({
        name: 'read_email',
        description: 'Reads a message.',
        args: z.object({ message_id: z.string() }),
        run: ({ message_id: id }) => {
          const email = mailbox.find(id);
          if (email === undefined) return `There is no message ${id}.`;
          read.add(id);
          const { date, from, subject, body } = email;
          return JSON.stringify({
            message_id: id,
            date,
            from,
            to: row.inbox_address,
            subject,
            body,
          });
        },
      }),
      tool({
        name: 'generate_response',
        description:
          'Gives the answer, with the ids of the messages that it comes from, and ends the task.',
        args: z.object({ answer: z.string(), sources: z.array(z.string()).default([]) }),
        run: ({ answer, sources }) => finish(answer, sources),
      }),
    ],
    say: (text) => finish(text, []),
    grade: () => scoreOf(undefined, false, []),
    stateKey: () => JSON.stringify([[...found].toSorted(), [...read].toSorted()]),
  });
  return {
    ...world,
    step: async (action) => {
      turns++;
      const result = await world.step(action);
      return { ...result, observation: result.observation.slice(0, args.observation_limit) };
    },
  };
}
