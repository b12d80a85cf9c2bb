/** Records requests to remote models as model calls, with the usage that the services report. */
import { tryJson } from '@trinity-rft/core/support';
import { inModelSpan, type ModelAnswer, type TraceContext } from '@trinity-rft/monitor/internal';
import { fieldsOf, textOf, type Fields } from './read-answer.js';
import type { RemoteModelOptions } from './remote-call.js';
import { reportedTokens } from './reported-tokens.js';

/** Error of a span whose request was refused. `code` is the status, as OpenTelemetry defines it. */
class Refused extends Error {
  readonly code: string;
  readonly response: Response;
  constructor(response: Response) {
    super(`The service answered with status ${response.status}.`);
    this.response = response;
    this.code = String(response.status);
  }
}

/**
 * Calls `send` within the span of a model call. The body of a response in JSON has been read when
 * the promise resolves. The tokens of a streamed response are unknown, and its span ends with the
 * headers.
 * @param home context of the rollout, in which the span starts if no other span is active
 */
export async function inRemoteSpan(
  body: Fields,
  { modelPath, baseURL }: Pick<RemoteModelOptions, 'modelPath' | 'baseURL'>,
  home: TraceContext,
  send: () => Promise<Response>,
): Promise<Response> {
  const { model, messages } = body;
  const call = {
    model: typeof model === 'string' ? model : modelPath,
    server: new URL(baseURL).host,
    temperature: numberIn(body, 'temperature'),
    topP: numberIn(body, 'top_p'),
    topK: numberIn(body, 'top_k'),
    maxTokens: numberIn(body, 'max_tokens', 'max_completion_tokens', 'max_output_tokens'),
    seed: numberIn(body, 'seed'),
    n: numberIn(body, 'n'),
    messages: Array.isArray(messages) ? messages : [],
  };
  const work = async (): Promise<readonly [Response, ModelAnswer]> => {
    const response = await send();
    if (!response.ok) throw new Refused(response);
    const isJson = /\bjson\b/i.test(response.headers.get('content-type') ?? '');
    if (!isJson || !response.body) return [response, answerOf(undefined)];
    const text = await response.text();
    return [new Response(text, response), answerOf(tryJson(text))];
  };
  try {
    const [response] = await inModelSpan(call, home, ([, answer]) => answer, work);
    return response;
  } catch (error) {
    if (error instanceof Refused) return error.response;
    throw error;
  }
}

const numberIn = (body: Fields, ...names: readonly string[]): number | undefined =>
  names.map((name) => body[name]).find((value) => typeof value === 'number');

function answerOf(answer: unknown): ModelAnswer {
  const { choices } = fieldsOf(answer);
  const all = Array.isArray(choices) ? choices.map(fieldsOf) : [];
  return {
    ...reportedTokens(answer),
    stopReasons: all.map((choice) => String(choice['finish_reason'])),
    texts: all.map((choice) => textOf(fieldsOf(choice['message'])['content'])),
  };
}
