/** Generates responses for the routes of all protocols. */
import type { Generate, GenerateRequest, Generation } from '../../rollout/generate.js';
import type { Deliveries } from './request-deduplication.js';

/**
 * Samples and records a response, and converts it to the value that the route delivers. If the
 * conversion or `onAnswer` fails, the client gets an error, so the recorded call does not become an
 * experience.
 * @param id id of the response that the client receives
 */
export type GenerateAnswer = <T>(
  id: string,
  request: GenerateRequest,
  convert: (generation: Generation) => T,
) => Promise<T>;

export interface GenerateAnswerOptions {
  readonly generate: Generate;
  readonly deliveries: Deliveries;
  /** Callback for each response, awaited before the client receives the end of the response. */
  readonly onAnswer: (id: string, generation: Generation) => void | Promise<void>;
}

export const createGenerateAnswer =
  ({ generate, deliveries, onAnswer }: GenerateAnswerOptions): GenerateAnswer =>
  async (id, request, convert) => {
    const generation = await generate(request);
    try {
      const answer = convert(generation);
      await onAnswer(id, generation);
      return answer;
    } catch (error) {
      deliveries.markUndelivered(generation.callIndex);
      throw error;
    }
  };
