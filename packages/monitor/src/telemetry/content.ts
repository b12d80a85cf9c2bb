/** Decides whether prompts, answers, and arguments and results of tools are exported. */

/**
 * Returns true if the environment enables the export of content. Off by default, as in
 * OpenTelemetry's own instrumentations of generative AI.
 */
export const capturesContent = (): boolean =>
  process.env['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']?.toLowerCase() === 'true';
