import { invalidRequest, withInstructions } from '@trinity-rft/chat/internal';
import type { GenerateRequest } from '../../rollout/generate.js';
import { formatInstruction } from '../shared/request/response-format.js';
import { toolChoiceInstruction } from '../shared/request/tool-choice.js';
import type { RouteContext } from '../shared/route.js';
import type { Item } from './items.js';
import type { ResponsesRequest } from './request.js';

/**
 * Returns the request that generates the response to a conversation. Its messages begin with the
 * instructions of the current request. Instructions of earlier requests are not repeated.
 * @throws ModelError 400 if there are no items
 */
export function generateRequest(
  parsed: ResponsesRequest,
  items: readonly Item[],
  { clientSampling, instructionRole }: Pick<RouteContext, 'clientSampling' | 'instructionRole'>,
): GenerateRequest {
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
  if (items.length === 0) throw invalidRequest('input', 'is empty', 'at least one item');
  const parseTools = toolChoice !== 'none';
  const system =
    instructions === undefined ? [] : [{ role: 'system' as const, content: instructions }];
  const messages = withInstructions(
    [...system, ...items.map(({ message }) => message)],
    [
      format && formatInstruction(format, parseTools && tools.length > 0),
      toolChoiceInstruction(toolChoice, oneCall),
    ],
    instructionRole,
  );
  return {
    messages,
    tools,
    parseTools,
    templateArgs,
    constraint,
    sampling: {
      topLogprobs,
      maxTokens,
      ...(clientSampling === 'respect' && parsed.sampling),
    },
  };
}

/** Field names in the Responses API, keyed by the names that this package uses in errors. */
export const fieldNames: Readonly<Record<string, string>> = {
  messages: 'input',
  maxTokens: 'max_output_tokens',
  topP: 'top_p',
  topK: 'top_k',
};
