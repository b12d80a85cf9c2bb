import { createHash } from 'node:crypto';
import { deriveSeed } from '@trinity-rft/core';
import {
  defineEnvironment,
  nativeEnvironment,
  rowsOfSplit,
  type StepResult,
  type World,
} from '@trinity-rft/environment';
import { z } from 'zod';
import { playing, refuse, textAction } from '../shared/actions.js';
import { readRow } from '../shared/row.js';
import { createDatabase, type ReadOnlyDatabase, schemaText, type Table } from './database.js';
import { drawQuestion, type Question } from './questions.js';

const argsSchema = z.strictObject({
  /** Difficulty. 1: one table; 2: two tables or groups; 3: three tables and subqueries. */
  level: z.int().min(1).max(3).default(2),
  database_seed: z.int().min(0).default(0),
  /** True to grade the last query if an episode ends without `submit`. */
  auto_submit: z.boolean().default(false),
});

const rowSchema = z.object({ query: z.string(), gold: z.string() });

/** Questions about a database, modelled on InterCode's SQL environment (arXiv:2306.14898). */
export const intercodeSql = defineEnvironment({
  name: 'intercode_sql',
  description: 'Explore a database by queries and submit the one that answers a question.',
  args: argsSchema,
  rows: rowSchema,
  play: { maxTurns: 10, actionFormat: '<action>{action}</action>', reward: 'sum' },
  open: ({ database_seed: seed, auto_submit: submits }) => {
    const database = createDatabase(seed);
    return nativeEnvironment(
      ({ row }) => {
        const { query, gold } = readRow(rowSchema, row, 'intercode_sql');
        return sqlWorld(database, query, { expected: rowSet(database.query(gold)), submits });
      },
      () => database.close(),
    );
  },
  tasks: (range, args) => {
    const database = createDatabase(args.database_seed);
    const draw = (seed: number) => ({ ...answered(database, args.level, seed) });
    try {
      return rowsOfSplit(range, draw, ({ gold }) => String(gold));
    } finally {
      database.close();
    }
  },
  solver: ({ row }) => {
    const { gold } = readRow(rowSchema, row, 'intercode_sql');
    return playing([textAction(gold), textAction('submit')]);
  },
});

/** Draws a question whose answer has at least one value other than null and 0. */
function answered(database: ReadOnlyDatabase, level: number, seed: number): Question {
  for (let attempt = 0; ; attempt++) {
    const question = drawQuestion(level, deriveSeed(seed, attempt));
    const values = database.query(question.gold).rows.flat();
    if (values.some((value) => value !== null && value !== 0)) return question;
  }
}

/** Returns a hash of the rows that does not depend on their order or on the column names. */
const rowSet = ({ rows }: Table): string =>
  createHash('sha256')
    .update(JSON.stringify(rows.map((row) => JSON.stringify(row)).toSorted()))
    .digest('hex');

function sqlWorld(
  database: ReadOnlyDatabase,
  question: string,
  { expected, submits }: { readonly expected: string; readonly submits: boolean },
): World {
  let last: string | undefined;
  const run = (sql: string): StepResult => {
    try {
      const table = database.query(sql);
      last = rowSet(table);
      return { observation: tableText(table), reward: 0, done: false };
    } catch (error) {
      return refuse(`Error: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  const verdict = () => (last === expected ? 1 : 0);
  return {
    instructions: `You answer questions by queries to a SQLite database. Its tables:
${schemaText}
Write one query in each step as <action>SELECT ...</action>. When the rows of your last query are the answer, write <action>submit</action>.`,
    observation: question,
    step: (action) => {
      const text = action.type === 'text' ? action.text.trim().replace(/;$/, '') : '';
      if (text.toLowerCase() === 'submit')
        return { observation: 'Submitted.', reward: verdict(), done: true };
      return run(text);
    },
    grade: () => (submits ? verdict() : 0),
    stateKey: () => last ?? '',
  };
}

/** Maximum numbers of rows, and of characters of a cell, that the policy sees. */
const [mostShown, longestCell] = [20, 200];

const cellText = (value: unknown): string => {
  const text = String(value);
  return text.length > longestCell ? `${text.slice(0, longestCell)}...` : text;
};

function tableText({ columns, rows }: Table): string {
  if (rows.length === 0) return 'No rows.';
  const lines = rows.slice(0, mostShown).map((row) => row.map(cellText).join(' | '));
  const more = rows.length > mostShown ? [`... ${rows.length - mostShown} more rows`] : [];
  return [columns.map(cellText).join(' | '), ...lines, ...more].join('\n');
}
