/** Records requests to remote models as model calls, with the usage that the services report. */
import { tryJson } from '@trinity-rft/core/support';
import {
  hasMeter,
  hasSdk,
  inModelSpan,
  type ModelAnswer,
  type TraceContext,
} from '@trinity-rft/monitor/internal';
import { fieldsOf, textOf, type Fields } from './read-answer.js';
import type { RemoteModelOptions } from './remote-call.js';
import { reportedTokens } from './reported-tokens.js';

/**
 * Error of a span whose request was refused. `code` is the status, as OpenTelemetry defines it, or
 * the code of an error that was answered with status 200.
 */
class Refused extends Error {
  readonly code: string;
  readonly response: Response;
  constructor(response: Response, code: unknown = response.status) {
    super(`The service answered with status ${response.status} and no response of the model.`);
    this.response = response;
    this.code = String(code);
  }
}

/**
 * Calls `send` within the span of a model call. If an SDK of OpenTelemetry is running, the body of a
 * response in JSON has been read when the promise resolves. The tokens of a streamed response are
 * unknown, and its span ends with the headers.
 * @param home context of the rollout, in which the span starts if no other span is active
 */
export async function inRemoteSpan(
  body: Fields,
  { modelPath, baseURL }: Pick<RemoteModelOptions, 'modelPath' | 'baseURL'>,
  home: TraceContext,
  send: () => Promise<Response>,
): Promise<Response> {
  if (!hasSdk() && !hasMeter()) return send();
  const { model, messages } = body;
  const call = {
    model: typeof model === 'string' ? model : modelPath,
    server: new URL(baseURL),
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
    const type = response.headers.get('content-type') ?? '';
    if (!response.ok || /\bhtml\b/i.test(type))
      throw new Refused(response, response.ok ? '_OTHER' : response.status);
    if (!/^application\/json\b/i.test(type) || !response.body) return [response, answerOf({})];
    const text = await response.text();
    const answer = fieldsOf(tryJson(text));
    const read = new Response(text, response);
    if (answer['error']) throw new Refused(read, fieldsOf(answer['error'])['code'] ?? '_OTHER');
    return [read, answerOf(answer)];
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

function answerOf(answer: Fields): ModelAnswer {
  const { choices } = answer;
  const all = Array.isArray(choices) ? choices.map(fieldsOf) : [];
  return {
    ...reportedTokens(answer),
    stopReasons: all.flatMap(({ finish_reason: reason }) =>
      typeof reason === 'string' ? [reason] : [],
    ),
    texts: all.map((choice) => textOf(fieldsOf(choice['message'])['content'])),
  };
}
