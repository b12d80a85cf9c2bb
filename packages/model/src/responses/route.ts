/** The routes of the Responses API. */
import { ModelError } from '@trinity-rft/core';
import { formatInstruction } from '../handler/answer-format.js';
import { readBody } from '../handler/body.js';
import type { HandlerOptions } from '../handler/handler.js';
import { withInstructions } from '../handler/instructions.js';
import { quote, refusal } from '../handler/refusal.js';
import { report } from '../handler/report.js';
import { toolChoiceInstruction } from '../handler/tool-choice.js';
import { eventResponse } from './events.js';
import { checkOutputs, readInput, readItem, type Item } from './items.js';
import { readRequest, type ResponsesRequest } from './request.js';
import { toResponse } from './response.js';
import { conversationOf, type ResponseStore, type StoredResponse } from './store.js';

type Route = (request: Request, options: HandlerOptions) => Promise<Response>;

/** Method, end of the path, and what answers there. */
export const responseRoutes: readonly [method: string, path: string, route: Route][] = [
  ['POST', '/v1/responses', create],
  ['GET', '/v1/responses/*', retrieve],
  ['DELETE', '/v1/responses/*', remove],
];

async function create(request: Request, options: HandlerOptions): Promise<Response> {
  const { responses: store, modelPath: model, tokenizer, runtime } = options;
  const wanted = readRequest((await readBody(request, options, 'a Responses request')).value);
  const previous = findPrevious(wanted, store);
  const input = readInput(wanted.input, store.item);
  const before = conversationOf(previous);
  checkOutputs(before, input);
  report(wanted, options);
  const seconds = (): number => Math.floor(runtime.clock.now() / 1000);
  const created = seconds();
  const generation = await generate(wanted, [...before, ...input], request.signal, options);
  const id = runtime.newId('resp');
  const body = toResponse(generation, { id, created, completed: seconds(), model, tokenizer, request: wanted });
  if (wanted.store) {
    const output = body.output.map((item, i) => readItem(item, `output[${i}]`, store.item));
    store.add({ body, input, output, ...(previous && { previous }) });
  }
  return wanted.stream ? eventResponse(body) : Response.json(body);
}

function findPrevious({ previousResponseId: id }: ResponsesRequest, store: ResponseStore): StoredResponse | undefined {
  if (id === undefined) return undefined;
  const found = store.get(id);
  if (found) return found;
  const expected = 'a response of this run that was not made with store: false and was not deleted';
  throw refusal('previous_response_id', `is ${quote(id)}, which is not stored`, expected, {
    status: 404,
    code: 'previous_response_not_found',
  });
}

/** Instructions come first and are those of this request only, whatever earlier ones said. */
async function generate(
  { instructions, tools, toolChoice, format, maxTokens, sampling }: ResponsesRequest,
  items: readonly Item[],
  signal: AbortSignal,
  options: HandlerOptions,
): ReturnType<HandlerOptions['generate']> {
  const parseTools = toolChoice !== 'none';
  const system = instructions === undefined ? [] : [{ role: 'system', content: instructions }];
  const told = [format && formatInstruction(format, parseTools && tools.length > 0), toolChoiceInstruction(toolChoice)];
  try {
    return await options.generate({
      messages: withInstructions([...system, ...items.map(({ message }) => message)], told),
      tools,
      parseTools,
      sampling: { ...(maxTokens !== undefined && { maxTokens }), ...(options.clientSampling === 'respect' && sampling) },
      signal,
    });
  } catch (error) {
    throw error instanceof ModelError ? renamed(error) : error;
  }
}

/** What the fields of this API are called inside. */
const names: Readonly<Record<string, string>> = { messages: 'input', maxTokens: 'max_output_tokens', topP: 'top_p', topK: 'top_k' };

function renamed(error: ModelError): ModelError {
  const { status, code, details, retryable, cause } = error;
  const param = names[String(details['param'])];
  if (param === undefined) return error;
  const message = error.message.replace(new RegExp(`^${String(details['param'])}\\b`), param);
  return new ModelError(message, { status, code, retryable, cause, details: { ...details, param } });
}

function retrieve(request: Request, { responses }: HandlerOptions): Promise<Response> {
  const id = idOf(request);
  const found = responses.get(id);
  if (!found) throw unknown(id);
  const stream = new URL(request.url).searchParams.get('stream') === 'true';
  return Promise.resolve(stream ? eventResponse(found.body) : Response.json(found.body));
}

function remove(request: Request, { responses }: HandlerOptions): Promise<Response> {
  const id = idOf(request);
  if (!responses.delete(id)) throw unknown(id);
  return Promise.resolve(Response.json({ id, object: 'response', deleted: true }));
}

const idOf = (request: Request): string => decodeURIComponent(new URL(request.url).pathname.replace(/\/+$/, '').split('/').at(-1)!);

function unknown(id: string): ModelError {
  return refusal('response_id', `is ${quote(id)}, which is not stored`, 'the id of a response of this run', {
    status: 404,
    code: 'response_not_found',
  });
}
