/** From items to the same generation as that of chat completions. */
import { ModelError } from '@trinity-rft/core';
import type { Generate, GenerateRequest } from '../../rollout/generate.js';
import { withInstructions } from '../shared/request/prompt-instructions.js';
import { formatInstruction } from '../shared/request/response-format.js';
import { toolChoiceInstruction } from '../shared/request/tool-choice.js';
import type { RouteContext } from '../shared/route.js';
import type { Item } from './items.js';
import type { ResponsesRequest } from './request.js';

/**
 * Instructions come first, and only those of this request: earlier ones do not carry over.
 * @throws ModelError, CancelledError, EngineError
 */
export async function generate(
  parsed: ResponsesRequest,
  items: readonly Item[],
  { signal, onTurn }: Pick<GenerateRequest, 'signal' | 'onTurn'>,
  context: Pick<RouteContext, 'generate' | 'clientSampling'>,
): ReturnType<Generate> {
  const {
    instructions,
    tools,
    toolChoice,
    oneCall,
    templateArgs,
    format,
    constraint,
    maxTokens,
    topLogprobs,
  } = parsed;
  const parseTools = toolChoice !== 'none';
  const system = instructions === undefined ? [] : [{ role: 'system', content: instructions }];
  const messages = withInstructions(
    [...system, ...items.map(({ message }) => message)],
    [
      format && formatInstruction(format, parseTools && tools.length > 0),
      toolChoiceInstruction(toolChoice, oneCall),
    ],
  );
  try {
    return await context.generate({
      messages,
      tools,
      parseTools,
      templateArgs,
      constraint,
      sampling: {
        topLogprobs,
        maxTokens,
        ...(context.clientSampling === 'respect' && parsed.sampling),
      },
      onTurn,
      signal,
    });
  } catch (error) {
    throw error instanceof ModelError ? withFieldOfThisApi(error) : error;
  }
}

/** Our names of fields, and those of the Responses API. */
const fieldNames: Readonly<Record<string, string>> = {
  messages: 'input',
  maxTokens: 'max_output_tokens',
  topP: 'top_p',
  topK: 'top_k',
};

function withFieldOfThisApi(error: ModelError): ModelError {
  const { status, code, details, retryable, cause } = error;
  const ours = String(details['param']);
  const param = fieldNames[ours];
  if (param === undefined) return error;
  const message = error.message.startsWith(ours)
    ? param + error.message.slice(ours.length)
    : error.message;
  return new ModelError(message, {
    status,
    code,
    retryable,
    cause,
    details: { ...details, param },
  });
}
