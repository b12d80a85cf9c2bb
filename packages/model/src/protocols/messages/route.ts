/** Handles `POST /v1/messages` of Anthropic's Messages API. */
import type { Answer } from '../shared/answer/answer.js';
import { jsonEncoding, sseEncoding, type AnswerEncoding } from '../shared/answer/encodings.js';
import type { LiveAnswer } from '../shared/answer/live-answer.js';
import { reportIgnoredSettings } from '../shared/ignored-settings.js';
import { readBody, type RequestBody } from '../shared/request/body.js';
import { answerRequest, turnListener, type RouteContext } from '../shared/route.js';
import { errorBody } from './error-body.js';
import { eventWriter, failureEvents } from './events.js';
import { readRequest, type MessagesRequest } from './request.js';
import { toMessage, type MessageBody, type MessageHead } from './response.js';

interface Created {
  readonly callIndex: number;
  readonly body: MessageBody;
}

type Encoding = AnswerEncoding<Created, MessageHead>;

const json: Encoding = {
  ...jsonEncoding<Created, MessageHead>(({ body }) => body),
  failure: (error) => JSON.stringify(errorBody(error)),
};

const sse: Encoding = sseEncoding<Created, MessageHead>({
  headOf: ({ body }) => body,
  writer: eventWriter,
  failure: failureEvents,
});

export async function messages(
  request: Request,
  context: RouteContext,
  body?: RequestBody,
): Promise<Answer> {
  const { value, digest } = body ?? (await readBody(request, context, 'a Messages request'));
  const parsed = readRequest(value, context);
  reportIgnoredSettings(parsed, context);
  return answerRequest(request, digest, context, parsed.stream ? sse : json, (signal, live) =>
    create(parsed, context, signal, live),
  );
}

/** Handles `POST /v1/messages/count_tokens`, which counts the tokens of a request's prompt. */
export async function countTokens(
  request: Request,
  context: RouteContext,
  body?: RequestBody,
): Promise<Answer> {
  const { value } = body ?? (await readBody(request, context, 'a Messages request'));
  const input_tokens = await context.countPrompt(readRequest(value, context));
  return Response.json({ input_tokens });
}

async function create(
  parsed: MessagesRequest,
  context: RouteContext,
  signal: AbortSignal,
  live: LiveAnswer<MessageHead>,
): Promise<Created> {
  const { modelPath: model, runtime, clientSampling } = context;
  const { tools, parseTools, templateArgs, constraint, stop, maxTokens } = parsed;
  const head = { id: runtime.newId('msg'), model };
  live.begin(head);
  const question = {
    messages: parsed.messages,
    tools,
    parseTools,
    templateArgs,
    constraint,
    sampling: { stop, maxTokens, ...(clientSampling === 'respect' && parsed.sampling) },
    onTurn: turnListener(parsed, live, context),
    signal,
  };
  return context.generateAnswer(head.id, question, (generation) => ({
    callIndex: generation.callIndex,
    body: toMessage(generation, head),
  }));
}
