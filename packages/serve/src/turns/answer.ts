/** The thread's side of a turn store: calls that arrive together are stored together, for all of them wait for one write to the disk. */
import type { MessagePort } from 'node:worker_threads';
import { toErrorRecord } from '@trinity-rft/core';
import { opening, type Answer, type Answers, type Question, type Questions } from './protocol.js';
import type { TurnDatabase } from './sqlite.js';

type Recorded = Extract<Question, { readonly method: 'record' }>;
type Asked = Exclude<Question, Recorded>;

/** Opens the database and answers what comes in through the port, in its order. The port closes with the database. */
export function answerQuestions(port: MessagePort, open: () => TurnDatabase): void {
  let database: TurnDatabase;
  try {
    database = open();
  } catch (error) {
    port.postMessage([{ id: opening, error: toErrorRecord(error) }] satisfies Answers);
    return port.close();
  }
  port.postMessage([{ id: opening, result: database.starts }] satisfies Answers);

  const waiting: Recorded[] = [];
  const store = (): Answers => stored(database, waiting.splice(0));
  const send = (answers: Answers): void => {
    if (answers.length > 0) port.postMessage(answers);
  };
  const take = (question: Question): void => {
    if (question.method === 'record') {
      // Everything that has arrived is handed out before: one turn of the event loop is one write.
      if (waiting.push(question) === 1) setImmediate(() => send(store()));
      return;
    }
    send([...store(), answer(question.id, () => ask(database, question))]);
    if (question.method === 'close') port.close();
  };
  port.on('message', (questions: Questions) => questions.forEach(take));
}

function answer(id: number, work: () => unknown): Answer {
  try {
    return { id, result: work() };
  } catch (error) {
    return { id, error: toErrorRecord(error) };
  }
}

/** One bad call fails alone: where all of them together fail, each is tried by itself. */
function stored(database: TurnDatabase, questions: readonly Recorded[]): Answers {
  const [first, ...others] = questions;
  if (!first) return [];
  const together = answer(first.id, () => database.record(questions.map(({ args: [call] }) => call)));
  if ('error' in together && others.length > 0) return questions.flatMap((question) => stored(database, [question]));
  return questions.map(({ id }) => ({ ...together, id }));
}

const ask = (database: TurnDatabase, { method, args }: Asked): unknown =>
  (database[method] as (...args: Asked['args']) => unknown)(...args);
