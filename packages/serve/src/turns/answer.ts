/** The thread's side of a turn store. */
import type { MessagePort } from 'node:worker_threads';
import { toErrorRecord } from '@trinity-rft/core';
import { opening, type Answer, type Answers, type Question, type Questions } from './protocol.js';
import type { TurnDatabase } from './sqlite.js';

/**
 * Opens the database and answers what comes in through the port, in its order. The port closes with
 * the database.
 */
export function answerQuestions(port: MessagePort, open: () => TurnDatabase): void {
  let database: TurnDatabase;
  try {
    database = open();
  } catch (error) {
    port.postMessage([{ id: opening, error: toErrorRecord(error) }] satisfies Answers);
    return port.close();
  }
  port.postMessage([{ id: opening, result: database.starts }] satisfies Answers);
  port.on('message', (questions: Questions) => {
    port.postMessage(questions.map((question) => answer(database, question)));
    if (questions.some(({ method }) => method === 'close')) port.close();
  });
}

function answer(database: TurnDatabase, { id, method, args }: Question): Answer {
  try {
    return { id, result: (database[method] as (...args: Question['args']) => unknown)(...args) };
  } catch (error) {
    return { id, error: toErrorRecord(error) };
  }
}
