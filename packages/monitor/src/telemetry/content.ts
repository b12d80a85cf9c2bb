/** Decides whether telemetry contains prompts, responses, tool arguments and tool results. */

export type Environment = Readonly<Record<string, string | undefined>>;

let environment: Environment = process.env;

/** Sets the environment variables that {@link capturesContent} reads. */
export const captureAsIn = (env: Environment): void => void (environment = env);

/**
 * Returns true if the environment variables enable the export of content. It is off by default, as
 * in OpenTelemetry's own instrumentations for generative AI.
 */
export const capturesContent = (): boolean =>
  environment['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']?.toLowerCase() === 'true';
