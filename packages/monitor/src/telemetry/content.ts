/** Decides whether prompts, answers and what tools get and return are exported. */

/** Off unless the environment says otherwise, as for every instrumentation of generative AI. */
export const capturesContent = (): boolean =>
  process.env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']?.toLowerCase() === 'true';
