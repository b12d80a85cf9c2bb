import { withFieldNames } from '../shared/request/fields.js';
import type { Generate, GenerateRequest } from '../../rollout/generate.js';
import { withInstructions } from '../shared/request/prompt-instructions.js';
import { formatInstruction } from '../shared/request/response-format.js';
import { toolChoiceInstruction } from '../shared/request/tool-choice.js';
import type { RouteContext } from '../shared/route.js';
import type { Item } from './items.js';
import type { ResponsesRequest } from './request.js';

/**
 * Samples the answer to a conversation. The instructions of this request come first. Instructions
 * of earlier requests are not used again.
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
    throw withFieldNames(error, fieldNames);
  }
}

/** Names of fields in the Responses API, keyed by their names in this package. */
const fieldNames: Readonly<Record<string, string>> = {
  messages: 'input',
  maxTokens: 'max_output_tokens',
  topP: 'top_p',
  topK: 'top_k',
};
