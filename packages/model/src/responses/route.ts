/** The routes of the Responses API. */
import { ModelError } from '@trinity-rft/core';
import { formatInstruction } from '../handler/answer-format.js';
import type { Generate } from '../generate.js';
import { readBody } from '../handler/body.js';
import { eventForm, jsonForm } from '../handler/forms.js';
import { withInstructions } from '../handler/instructions.js';
import { quote, refusal } from '../handler/refusal.js';
import { report } from '../handler/report.js';
import type { Route, RouteContext } from '../handler/route.js';
import { serve } from '../handler/serve.js';
import { toolChoiceInstruction } from '../handler/tool-choice.js';
import { failureEvents, toEvents } from './events.js';
import { checkOutputs, readInput, readOutputItems, type Item } from './items.js';
import { readRequest, type ResponsesRequest } from './request.js';
import { toResponse, type ResponseBody } from './response.js';
import { conversationOf, type ResponseStore, type StoredResponse } from './store.js';

/** Method, end of the path, and what answers there. */
export const responseRoutes: readonly [method: string, path: string, route: Route][] = [
  ['POST', '/v1/responses', create],
  ['GET', '/v1/responses/*', retrieve],
  ['DELETE', '/v1/responses/*', remove],
];

/** The record of a finished call, and the response that tells of it. */
interface Created {
  readonly callIndex: number;
  readonly body: ResponseBody;
}

const whole = jsonForm<Created>(({ body }) => body);
const streamed = eventForm<Created>(({ body }) => toEvents(body).map((data) => ({ event: data.type, data })), failureEvents);

async function create(request: Request, context: RouteContext): Promise<Response> {
  const { value, digest } = await readBody(request, context, 'a Responses request');
  const wanted = readRequest(value);
  const previous = findPrevious(wanted, context.responses);
  const input = readInput(wanted.input, context.responses.item);
  const before = conversationOf(previous);
  checkOutputs(before, input);
  report(wanted, context);
  for (const { callIndex } of [...before, ...input]) if (callIndex !== undefined) context.deliveries.refer(callIndex);
  return serve(request, digest, context, wanted.stream ? streamed : whole, async (signal): Promise<Created> => {
    const created = seconds(context);
    const generation = await generate(wanted, [...before, ...input], signal, context);
    const { callIndex } = generation;
    const { modelPath: model, tokenizer, runtime } = context;
    const body = toResponse(generation, {
      id: runtime.newId('resp'),
      created,
      completed: seconds(context),
      model,
      tokenizer,
      request: wanted,
    });
    if (wanted.store)
      context.responses.add({ callIndex, body, input, output: readOutputItems(body.output, callIndex), ...(previous && { previous }) });
    return { callIndex, body };
  });
}

const seconds = ({ runtime }: RouteContext): number => Math.floor(runtime.clock.now() / 1000);

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
  { generate: run, clientSampling }: RouteContext,
): ReturnType<Generate> {
  const parseTools = toolChoice !== 'none';
  const system = instructions === undefined ? [] : [{ role: 'system', content: instructions }];
  const told = [format && formatInstruction(format, parseTools && tools.length > 0), toolChoiceInstruction(toolChoice)];
  try {
    return await run({
      messages: withInstructions([...system, ...items.map(({ message }) => message)], told),
      tools,
      parseTools,
      sampling: { ...(maxTokens !== undefined && { maxTokens }), ...(clientSampling === 'respect' && sampling) },
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

/** The stream can be asked for again, from any event on. */
function retrieve(request: Request, { responses, deliveries }: RouteContext): Promise<Response> {
  const id = idOf(request);
  const found = responses.get(id);
  if (!found) throw unknown(id);
  const { body, callIndex } = found;
  deliveries.refer(callIndex);
  const query = new URL(request.url).searchParams;
  if (query.get('stream') !== 'true') return Promise.resolve(Response.json(body));
  const after = Number(query.get('starting_after') ?? -1);
  const pieces = streamed.pieces(found).slice(after + 1);
  return Promise.resolve(new Response(pieces.join(''), { headers: { 'content-type': streamed.contentType } }));
}

function remove(request: Request, { responses }: RouteContext): Promise<Response> {
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
