/** From items to the generation that chat completions have too. */
import { ModelError } from '@trinity-rft/core';
import type { Generate } from '../../rollout/generate.js';
import { formatInstruction } from '../shared/request/response-format.js';
import { withInstructions } from '../shared/request/prompt-instructions.js';
import type { RouteContext } from '../shared/route.js';
import { toolChoiceInstruction } from '../shared/request/tool-choice.js';
import type { Item } from './items.js';
import type { ResponsesRequest } from './request.js';

/**
 * Instructions come first and are those of this request only, whatever earlier ones said.
 * @throws ModelError, CancelledError, EngineError
 */
export async function generate(
  wanted: ResponsesRequest,
  items: readonly Item[],
  signal: AbortSignal,
  { generate: run, clientSampling }: Pick<RouteContext, 'generate' | 'clientSampling'>,
): ReturnType<Generate> {
  const { instructions, tools, toolChoice, format, maxTokens, topLogprobs, sampling, form } =
    wanted;
  const parseTools = toolChoice !== 'none';
  const system = instructions === undefined ? [] : [{ role: 'system', content: instructions }];
  const told = [
    format && formatInstruction(format, parseTools && tools.length > 0),
    toolChoiceInstruction(toolChoice),
  ];
  try {
    return await run({
      messages: withInstructions([...system, ...items.map(({ message }) => message)], told),
      tools,
      parseTools,
      ...(form && { form }),
      sampling: {
        ...(topLogprobs !== undefined && { topLogprobs }),
        ...(maxTokens !== undefined && { maxTokens }),
        ...(clientSampling === 'respect' && sampling),
      },
      signal,
    });
  } catch (error) {
    throw error instanceof ModelError ? renamed(error) : error;
  }
}

/** What the fields of this API are called inside. */
const names: Readonly<Record<string, string>> = {
  messages: 'input',
  maxTokens: 'max_output_tokens',
  topP: 'top_p',
  topK: 'top_k',
};

function renamed(error: ModelError): ModelError {
  const { status, code, details, retryable, cause } = error;
  const inside = String(details['param']);
  const param = names[inside];
  if (param === undefined) return error;
  const message = error.message.startsWith(inside)
    ? param + error.message.slice(inside.length)
    : error.message;
  return new ModelError(message, {
    status,
    code,
    retryable,
    cause,
    details: { ...details, param },
  });
}
