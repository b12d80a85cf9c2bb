/**
 * Adds the configured settings of an auxiliary model, such as the temperature, to requests that do
 * not set them. Works for the requests of any client library.
 */
import { tryJson } from '@trinity-rft/core/support';
import type { TraceContext } from '@trinity-rft/monitor/internal';
import type { Fields } from './read-answer.js';
import { inRemoteSpan } from './remote-span.js';
import type { RemoteModelOptions } from './remote-call.js';

type Settings = Pick<
  RemoteModelOptions,
  'defaults' | 'enableThinking' | 'modelPath' | 'baseURL'
> & {
  /** Context of the rollout, for the spans of calls. */
  readonly home: TraceContext;
};
type Fetch = typeof globalThis.fetch;

/** Field names of the token limit by path of the API, the usual name first. */
const limits: readonly (readonly [path: RegExp, ...names: readonly string[]])[] = [
  [/\/chat\/completions$/, 'max_tokens', 'max_completion_tokens'],
  [/\/completions$/, 'max_tokens'],
  [/\/responses$/, 'max_output_tokens'],
  [/\/messages$/, 'max_tokens'],
];

/**
 * Sends a request to which the configured settings have been added. Requests to other paths, or in
 * a format that is not known, are sent unchanged.
 */
export async function sendWithSettings(
  fetch: Fetch,
  settings: Settings,
  ...[input, init]: Parameters<Fetch>
): Promise<Response> {
  const url = new URL(input instanceof Request ? input.url : String(input));
  const names = limits.find(([path]) => path.test(url.pathname))?.slice(1) as
    | readonly string[]
    | undefined;
  const method = init?.method ?? (input instanceof Request ? input.method : 'GET');
  if (names === undefined || method !== 'POST') return fetch(input, init);
  const text = await (
    init?.body != null || !(input instanceof Request)
      ? new Response(init?.body ?? null)
      : input.clone()
  ).text();
  const body = parsed(text);
  const send = (content: string): Promise<Response> => fetch(input, { ...init, body: content });
  // A request for log-probabilities of a given text needs no settings.
  if (body === undefined || body['echo'] === true || 'prompt_logprobs' in body) return send(text);
  const filled = withSettings(body, names, settings);
  return inRemoteSpan(filled, settings, settings.home, async () => {
    const response = await send(JSON.stringify(filled));
    const other = await limitByOtherName(filled, names, response);
    return other ? send(JSON.stringify(other)) : response;
  });
}

function parsed(text: string): Fields | undefined {
  const value = tryJson(text);
  return typeof value === 'object' && value !== null ? (value as Fields) : undefined;
}

/**
 * Adds the settings that a request does not set. Omits settings that equal the services' defaults,
 * because some models of OpenAI reject these fields.
 */
function withSettings(
  body: Fields,
  names: readonly string[],
  { defaults = {}, enableThinking }: Settings,
): Fields {
  const { temperature, topP, maxTokens } = defaults;
  const isChat = Array.isArray(body['messages']);
  const open = {
    temperature,
    top_p: topP === 1 ? undefined : topP,
    ...(!names.some((name) => body[name] != null) && { [names[0] as string]: maxTokens }),
  };
  const missing = Object.entries(open).filter(
    ([name, value]) => value !== undefined && body[name] == null,
  );
  const template = body['chat_template_kwargs'] as Fields | undefined;
  return {
    ...body,
    ...Object.fromEntries(missing),
    ...(isChat &&
      enableThinking !== undefined && {
        chat_template_kwargs: { enable_thinking: enableThinking, ...template },
      }),
  };
}

/**
 * Returns the body for a second attempt if the service rejected the field `max_tokens` and its
 * error message names the other field for the token limit, as services of reasoning models do.
 * Returns undefined for any other response.
 */
async function limitByOtherName(
  { max_tokens: limit, ...body }: Fields,
  [, other]: readonly string[],
  response: Response,
): Promise<Fields | undefined> {
  if (response.status !== 400 || other === undefined || limit === undefined) return undefined;
  const text = await response.clone().text();
  return text.includes(other) ? { ...body, [other]: limit } : undefined;
}
