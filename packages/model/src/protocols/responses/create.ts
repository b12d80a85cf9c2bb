/** `POST /v1/responses`. */
import type { Answer } from '../shared/answer/answer.js';
import { readBody } from '../shared/request/body.js';
import { report } from '../shared/ignored-settings.js';
import { quote, refusal } from '../shared/request/invalid-request.js';
import type { RouteContext } from '../shared/route.js';
import { serve } from '../shared/serve.js';
import { streamed, whole, type Created } from './encodings.js';
import { generate } from './generate.js';
import { checkCalls, readInput, readOutputItems, type Item } from './items.js';
import { readRequest, type ResponsesRequest } from './request.js';
import { toResponse } from './response.js';
import { conversationOf, type ResponseStore, type StoredResponse } from './store.js';

/** A request with all that it refers to. */
interface Asked {
  readonly wanted: ResponsesRequest;
  readonly previous?: StoredResponse;
  /** What the previous response ends. */
  readonly before: readonly Item[];
  readonly input: readonly Item[];
}

export async function createResponse(request: Request, context: RouteContext): Promise<Answer> {
  const { value, digest } = await readBody(request, context, 'a Responses request');
  const asked = resolve(readRequest(value), context.responses);
  report(asked.wanted, context);
  for (const { callIndex } of [...asked.before, ...asked.input]) {
    if (callIndex !== undefined) context.deliveries.refer(callIndex);
  }
  return serve(request, digest, context, asked.wanted.stream ? streamed() : whole, (signal) =>
    answer(asked, context, signal),
  );
}

function resolve(wanted: ResponsesRequest, store: ResponseStore): Asked {
  const previous = findPrevious(wanted, store);
  const before = conversationOf(previous);
  const input = readInput(wanted.input, (id) => store.item(id));
  checkCalls(before, input);
  return { wanted, before, input, ...(previous && { previous }) };
}

/** Stored before the client can see it. */
async function answer(
  { wanted, previous, before, input }: Asked,
  context: RouteContext,
  signal: AbortSignal,
): Promise<Created> {
  const { modelPath: model, tokenizer, runtime, responses } = context;
  const seconds = (): number => Math.floor(runtime.clock.now() / 1000);
  const created = seconds();
  const generation = await generate(wanted, [...before, ...input], signal, context);
  const { callIndex } = generation;
  const of = {
    id: runtime.newId('resp'),
    created,
    completed: seconds(),
    model,
    tokenizer,
    request: wanted,
  };
  const body = toResponse(generation, of);
  await context.answered(of.id, generation);
  if (wanted.store) {
    const output = readOutputItems(body.output, callIndex);
    responses.add({ callIndex, body, input, output, ...(previous && { previous }) });
  }
  return { callIndex, body };
}

function findPrevious(
  { previousResponseId: id }: ResponsesRequest,
  store: ResponseStore,
): StoredResponse | undefined {
  if (id === undefined) return undefined;
  const found = store.get(id);
  if (found) return found;
  const expected = 'a response of this run that was not made with store: false and was not deleted';
  const options = { status: 404, code: 'previous_response_not_found' };
  throw refusal('previous_response_id', `is ${quote(id)}, which is not stored`, expected, options);
}
