/**
 * Writes `samples.jsonl`: a few rows of each train batch as text, including supervised and expert
 * data.
 */
import path from 'node:path';
import { experienceJson } from '@trinity-rft/buffer/internal';
import type { ChatFormat } from '@trinity-rft/chat';
import type { StageConfig } from '@trinity-rft/config';
import type { Experience } from '@trinity-rft/core';
import type { ExperienceSource, Lease } from '@trinity-rft/core/store';
import { fileWriter } from '@trinity-rft/monitor';
import type { StageModel } from '../models/chat-format.js';
import { byReward } from './rollout-preview.js';

/**
 * Wraps a source so that a preview of each batch is written after training on the batch. A failure
 * only logs a warning.
 */
export function withPreview(
  source: ExperienceSource,
  { trainer, monitor, log }: StageConfig,
  { format, runtime }: StageModel,
): ExperienceSource {
  if (!trainer.enablePreview) return source;
  const file = path.join(monitor.directory, 'samples.jsonl');
  const write = (trainStep: number, { experiences }: Lease): void => {
    try {
      const writer = fileWriter(file, log);
      for (const experience of pick(experiences))
        writer.write(JSON.stringify({ step: trainStep, ...readable(experience, format) }));
      writer.close();
    } catch (error) {
      runtime.logger.warn('The preview of samples could not be written.', { error });
    }
  };
  const previewed = (lease: Lease): Lease => ({
    ...lease,
    acknowledge: async (trainStep, advantages) => {
      await lease.acknowledge(trainStep, advantages);
      write(trainStep, lease);
    },
  });
  return {
    take: async (count, filter, signal) => {
      const lease = await source.take(count, filter, signal);
      return lease && previewed(lease);
    },
    rollback: (trainStep) => source.rollback(trainStep),
    close: () => source.close(),
  };
}

/**
 * Returns the experiences with the highest and the lowest reward, and the first example or
 * preference pair of supervised or expert data.
 */
function pick(experiences: readonly Experience[]): readonly Experience[] {
  const given = experiences.filter(({ policyVersion }) => policyVersion < 0);
  const scored = experiences
    .filter(({ policyVersion, reward }) => policyVersion >= 0 && reward !== undefined)
    .toSorted(byReward);
  const isPair = given[0]?.info['preference'] !== undefined;
  const picked = [scored.at(-1), scored[0], ...given.slice(0, isPair ? 2 : 1)];
  return [...new Set(picked)].filter((experience) => experience !== undefined);
}

/**
 * Converts an experience to JSON. Decodes the prompt and response text from the tokens if the
 * experience does not contain them.
 */
function readable(experience: Experience, { tokenizer }: ChatFormat) {
  const { tokens, promptLength } = experience;
  return {
    prompt_text: tokenizer.decode(tokens.subarray(0, promptLength)),
    response_text: tokenizer.decode(tokens.subarray(promptLength)),
    ...experienceJson(experience),
  };
}
