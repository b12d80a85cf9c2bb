/** Writes `rollouts.jsonl`: the best and the worst experience of each explore step as text. */
import path from 'node:path';
import { experienceJson } from '@trinity-rft/buffer/internal';
import type { StageConfig } from '@trinity-rft/config';
import type { Experience, Logger } from '@trinity-rft/core';
import { fileWriter } from '@trinity-rft/monitor';

export type OnExplored = (step: number, experiences: readonly Experience[]) => void;

/** Creates a callback that writes the preview of an explore step. A failure only logs a warning. */
export function previewWriter({ monitor, log }: StageConfig, logger: Logger): OnExplored {
  const file = path.join(monitor.directory, 'rollouts.jsonl');
  return (step, experiences) => {
    const scored = experiences.filter(({ reward }) => reward !== undefined).toSorted(byReward);
    const picked = [...new Set([scored.at(-1), scored[0]])].filter(
      (experience) => experience !== undefined,
    );
    try {
      const writer = fileWriter(file, log);
      for (const experience of picked)
        writer.write(JSON.stringify({ step, ...experienceJson(withoutTimes(experience)) }));
      writer.close();
    } catch (error) {
      logger.warn('The preview of rollouts could not be written.', { error });
    }
  };
}

/**
 * Removes clock times, so that a resumed training run writes the same lines as an uninterrupted
 * one.
 */
function withoutTimes(experience: Experience): Experience {
  const { times: _, ...info } = experience.info;
  return { ...experience, info };
}

/** Compares by reward, ascending; a missing reward counts as 0. */
export const byReward = ({ reward: a = 0 }: Experience, { reward: b = 0 }: Experience): number =>
  a - b;
