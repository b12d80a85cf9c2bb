/** Logs which of a client's settings the endpoint ignores. */
import type { RouteContext } from './route.js';

interface ClientSettings {
  readonly samplingFields: readonly string[];
  /** Names of the request fields that require a response format or a tool call. */
  readonly constraintFields: readonly string[];
  /** True if the model can call tools that the request does not allow. @default false */
  readonly widensTools?: boolean;
  /** Variables of the chat template. */
  readonly templateArgs?: object;
}

/** Counts requests with settings that are ignored, and logs each distinct message once. */
export function reportIgnoredSettings(
  { samplingFields, constraintFields, widensTools = false, templateArgs = {} }: ClientSettings,
  context: RouteContext,
): void {
  const { clientSampling, constrainedDecoding, counters } = context;
  if (clientSampling === 'override' && samplingFields.length > 0) {
    counters.add('sampling_overridden');
    logOnce(
      context,
      `The agent sets ${samplingFields.join(', ')}. These settings are ignored: the run samples with its own.`,
    );
  }
  if (widensTools)
    logOnce(
      context,
      "The agent allows only some of its tools in tool_choice. This is ignored: the model can call all tools. Leave the others out of the request's tools.",
    );
  const variables = Object.keys(templateArgs);
  if (context.isExternal && variables.length > 0)
    logOnce(
      context,
      `The agent sets ${variables.join(', ')} for the chat template. This is ignored: a model behind an API answers, with its own template.`,
    );
  if (constraintFields.length === 0) return;
  counters.add(constrainedDecoding ? 'constrained' : 'unconstrained');
  if (!constrainedDecoding) {
    logOnce(
      context,
      `The agent demands a response format with ${constraintFields.join(', ')}. The format is described to the model but not enforced, so the reward has to judge it. Set explorer.constrained_decoding to enforce it.`,
    );
  }
}

export function logOnce(
  { notices, runtime }: Pick<RouteContext, 'notices' | 'runtime'>,
  text: string,
): void {
  if (notices.has(text)) return;
  notices.add(text);
  runtime.logger.info(text);
}
