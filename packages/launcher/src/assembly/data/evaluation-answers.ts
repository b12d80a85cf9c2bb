/** Stores the responses of evaluations in a separate database below the folder of the stage. */
import path from 'node:path';
import { recordAnswers } from '@trinity-rft/buffer/internal';
import type { StageConfig } from '@trinity-rft/config';
import type { Logger } from '@trinity-rft/core';
import type { OnEvaluated } from '@trinity-rft/explorer';

/** Name of the folder for the results of evaluations, in the folder of a stage. */
export const evaluationsName = 'evaluations';

export const evaluationsFolder = (directory: string): string =>
  path.join(directory, evaluationsName);

/** Returns the path of the database with the responses of a stage's evaluations. */
export const answersFile = (directory: string): string =>
  path.join(evaluationsFolder(directory), 'experiences.db');

/** Creates a callback that stores the responses of an evaluation. A failure only logs a warning. */
export function answerWriter(
  { jobDirectory }: Pick<StageConfig, 'jobDirectory'>,
  logger: Pick<Logger, 'warn'>,
): OnEvaluated {
  return ({ set, policyVersion, outcomes }) => {
    const answers = outcomes.flatMap(({ runs }) =>
      runs.flatMap((run) => (run.status === 'ok' ? (run.answers ?? []) : [])),
    );
    if (answers.length === 0) return;
    try {
      recordAnswers({ path: answersFile(jobDirectory), set, policyVersion, answers });
    } catch (error) {
      logger.warn(`The answers of the evaluation "${set}" could not be stored.`, { error });
    }
  };
}
