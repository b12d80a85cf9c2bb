/** Converts an experience to an object without token arrays, for a log that people read. */
import { type Experience, responseLength, uid } from '@trinity-rft/core';

/** Result of {@link experienceJson}. The keys are the same as in Trinity-RFT. */
export interface ExperienceJson {
  /** Uid: `batch/task/run/step/suffix`. */
  readonly eid: string;
  /** `multi_turn` if the response contains tokens that the model did not sample. */
  readonly type: 'single_turn' | 'multi_turn';
  /** Length of the prompt in tokens. */
  readonly prompt_length: number;
  /** Length of the response in tokens. */
  readonly response_length: number;
  readonly model_version: number;
  readonly reward?: number;
  readonly truncate_status?: string;
  readonly prompt_text?: string;
  readonly response_text?: string;
  readonly metrics: Readonly<Record<string, number>>;
  readonly info: Readonly<Record<string, unknown>>;
}

/**
 * Converts an experience to plain data for `JSON.stringify`. Fields that the experience lacks are
 * omitted.
 */
export function experienceJson(experience: Experience): ExperienceJson {
  const { reward, truncateStatus, promptText, responseText } = experience;
  return {
    eid: uid(experience.eid),
    type: experience.actionMask.includes(0) ? 'multi_turn' : 'single_turn',
    prompt_length: experience.promptLength,
    response_length: responseLength(experience),
    model_version: experience.policyVersion,
    ...(reward !== undefined && { reward }),
    ...(truncateStatus && { truncate_status: truncateStatus }),
    ...(promptText !== undefined && { prompt_text: promptText }),
    ...(responseText !== undefined && { response_text: responseText }),
    metrics: experience.metrics,
    info: experience.info,
  };
}
