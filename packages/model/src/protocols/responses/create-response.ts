/** Handles `POST /v1/responses`. */
import { invalidRequest, quote } from '@trinity-rft/chat/internal';
import type { Answer } from '../shared/answer/answer.js';
import { jsonEncoding, sseEncoding, type AnswerEncoding } from '../shared/answer/encodings.js';
import type { LiveAnswer } from '../shared/answer/live-answer.js';
import { reportIgnoredSettings } from '../shared/ignored-settings.js';
import { readBody, type RequestBody } from '../shared/request/body.js';
import { withFieldNames } from '../shared/request/fields.js';
import { answerRequest, turnListener } from '../shared/route.js';
import {
  deltaEndOf,
  eventWriter,
  failureEvents,
  headOf,
  type DeltaEnd,
  type FinishedResponse,
  type ResponseHead,
} from './events.js';
import { fieldNames, generateRequest } from './generate-request.js';
import { checkCalls, readInput, readOutputItems, type Item } from './items.js';
import { readRequest, type ResponsesRequest } from './request.js';
import {
  conversationOf,
  type ResponsesContext,
  type ResponseStore,
  type StoredResponse,
} from './response-store.js';
import { newResponse, toResponse } from './response.js';

interface ResolvedRequest {
  readonly parsed: ResponsesRequest;
  readonly previous: StoredResponse | undefined;
  /** Items of the conversation up to and including the previous response, oldest first. */
  readonly before: readonly Item[];
  readonly input: readonly Item[];
}

interface Created extends FinishedResponse {
  readonly callIndex: number;
}

const json = jsonEncoding<Created, ResponseHead>(({ body }) => body);
const sse = sseAfter(-1);

/** Creates an encoding as a stream of events that omits the events up to `sequenceNumber`. */
export function sseAfter(sequenceNumber: number): AnswerEncoding<Created, ResponseHead> {
  return sseEncoding<Created, ResponseHead>({
    headOf,
    writer: (head) => {
      const events = eventWriter(head);
      return {
        update: (turns) => events.update(turns),
        end: (answer) => events.end(answer).slice(sequenceNumber + 1),
      };
    },
    failure: failureEvents,
  });
}

export async function createResponse(
  request: Request,
  context: ResponsesContext,
  sent?: RequestBody,
): Promise<Answer> {
  const { value, digest } = sent ?? (await readBody(request, context, 'a Responses request'));
  const resolved = resolve(readRequest(value, context), context.responses);
  reportIgnoredSettings(resolved.parsed, context);
  for (const { callIndex } of [...resolved.before, ...resolved.input])
    if (callIndex !== undefined) context.deliveries.markDelivered(callIndex);
  const encoding: AnswerEncoding<Created, ResponseHead> = resolved.parsed.stream ? sse : json;
  return answerRequest(request, digest, context, encoding, (signal, live) =>
    create(resolved, context, signal, live),
  );
}

function resolve(parsed: ResponsesRequest, store: ResponseStore): ResolvedRequest {
  const previous = findPrevious(parsed, store);
  const before = conversationOf(previous);
  const input = readInput(parsed.input, (id) => store.item(id));
  checkCalls(before, input);
  return { parsed, previous, before, input };
}

function findPrevious(
  { previousResponseId: id }: ResponsesRequest,
  store: ResponseStore,
): StoredResponse | undefined {
  if (id === undefined) return undefined;
  const found = store.get(id);
  if (found) return found;
  throw invalidRequest(
    'previous_response_id',
    `is ${quote(id)}, which is not stored`,
    'a response of this run that was not created with store: false and was not deleted',
    { status: 404, code: 'previous_response_not_found' },
  );
}

/** Samples a response, and stores it before the end of the response is sent to the client. */
async function create(
  { parsed, previous, before, input }: ResolvedRequest,
  context: ResponsesContext,
  signal: AbortSignal,
  live: LiveAnswer<ResponseHead>,
): Promise<Created> {
  const { modelPath: model, tokenizer, runtime, responses } = context;
  const seconds = (): number => Math.floor(runtime.clock.now() / 1000);
  const start = { id: runtime.newId('resp'), created: seconds(), model, request: parsed };
  const { sealReasoning } = parsed;
  const deltaEnds: DeltaEnd[] = [];
  live.begin({ response: newResponse(start), sealReasoning, deltaEnds });
  const update: typeof live.update = (choice, turn) => {
    deltaEnds.push(deltaEndOf(turn));
    live.update(choice, turn);
  };
  const onTurn = turnListener(parsed, { update }, context);
  const items = [...before, ...input];
  const question = generateRequest(parsed, items, context);
  const response = await context
    .generateAnswer(start.id, { ...question, signal, onTurn }, (generation): StoredResponse => {
      const { callIndex } = generation;
      const body = toResponse(generation, { ...start, completed: seconds(), tokenizer });
      const output = readOutputItems(body.output, callIndex);
      return { callIndex, body, deltaEnds, input, output, previous };
    })
    .catch((error: unknown) => {
      throw withFieldNames(error, fieldNames);
    });
  if (parsed.store) responses.add(response);
  return response;
}
