/** Entry of the thread of a turn store. */
import { parentPort, workerData } from 'node:worker_threads';
import { InvariantError } from '@trinity-rft/core';
import { answerQuestions } from './answer.js';
import { openTurnDatabase, type TurnStoreOptions } from './sqlite.js';

if (parentPort === null)
  throw new InvariantError(
    'The worker of the turn store was loaded outside a worker thread; use openTurnStore.',
  );
answerQuestions(parentPort, () => openTurnDatabase(workerData as TurnStoreOptions));
