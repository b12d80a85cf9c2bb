/** Decides whether prompts, responses, tool arguments and tool results are exported. */

export type Environment = Readonly<Record<string, string | undefined>>;

let environment: Environment = process.env;

/** Makes {@link capturesContent} read `env`. */
export const captureAsIn = (env: Environment): void => void (environment = env);

/**
 * Returns true if the environment enables the export of content. Off by default, as in
 * OpenTelemetry's own instrumentations of generative AI.
 */
export const capturesContent = (): boolean =>
  environment['OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT']?.toLowerCase() === 'true';
