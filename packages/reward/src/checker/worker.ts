/** Entry of the thread that compares. */
import { workerData } from 'node:worker_threads';
import type { CheckTask, FromCheckThread, ToCheckThread } from './protocol.js';
import { rules } from './rules.js';

const { port, maxAnswerLength } = workerData as CheckTask;

port.on('message', ({ id, rule, response, truth }: ToCheckThread) => {
  const answer: FromCheckThread = {
    id,
    equal: compare(() => rules[rule](response, truth, maxAnswerLength)),
  };
  port.postMessage(answer);
});
port.postMessage({ id: 0, equal: undefined } satisfies FromCheckThread);

function compare(isRight: () => boolean): boolean | undefined {
  try {
    return isRight();
  } catch {
    // Deeper than the stack, where the limits on an answer are lifted: the caller names it.
    return undefined;
  }
}
