/** Answers of evaluations, in a store of their own below the folder of the stage. */
import path from 'node:path';
import { recordAnswers } from '@trinity-rft/buffer/internal';
import type { StageConfig } from '@trinity-rft/config';
import type { Logger } from '@trinity-rft/core';
import type { OnEvaluated } from '@trinity-rft/explorer';

/** Folder of evaluations in the folder of a stage. */
export const evaluationsName = 'evaluations';

export const evaluationsFolder = (directory: string): string =>
  path.join(directory, evaluationsName);

/** Store of the evaluations of the stage in `directory`. */
export const answersFile = (directory: string): string =>
  path.join(evaluationsFolder(directory), 'experiences.db');

/** Creates a callback that stores the answers of an evaluation; a failure only logs a warning. */
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
