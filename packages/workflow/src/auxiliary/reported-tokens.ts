/** Reads the token usage that a service reports. */
import { fieldsOf } from './read-answer.js';

interface ReportedTokens {
  /** Undefined if the service does not report it. */
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
}

/**
 * Returns the numbers of tokens in a response of the Chat Completions, Completions, Embeddings,
 * Responses or Messages API, parsed from JSON.
 */
export function reportedTokens(answer: unknown): ReportedTokens {
  const { usage } = fieldsOf(answer);
  const count = (name: string): number | undefined => {
    const value = fieldsOf(usage)[name];
    return typeof value === 'number' ? value : undefined;
  };
  const own = count('input_tokens');
  // The Messages API does not include these in `input_tokens`.
  const cached =
    (count('cache_read_input_tokens') ?? 0) + (count('cache_creation_input_tokens') ?? 0);
  const inputTokens = count('prompt_tokens') ?? (own === undefined ? undefined : own + cached);
  // Embeddings report no output.
  const noOutput =
    inputTokens !== undefined && count('total_tokens') === inputTokens ? 0 : undefined;
  return {
    inputTokens,
    outputTokens: count('completion_tokens') ?? count('output_tokens') ?? noOutput,
  };
}
