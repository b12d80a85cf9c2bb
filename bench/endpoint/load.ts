/**
 * Sends requests at a fixed rate, independent of the answers. Latencies are measured from the time at
 * which a request was due.
 */
import { Agent, request } from 'node:http';
import { opening, toolResult, tools, turnsPerConversation, type Message } from './conversation.ts';
import type { Place } from './target.ts';

export interface LoadOptions {
  readonly perSecond: number;
  readonly seconds: number;
  readonly pool: Pool;
  /** Called when a conversation has ended and its place has left the pool. */
  readonly ended: (place: Place) => void;
}

export interface LoadResult {
  /** Latencies in milliseconds, ascending. */
  readonly latencies: readonly number[];
  readonly failed: number;
  readonly perSecond: number;
}

interface Conversation {
  readonly place: Place;
  readonly messages: readonly Message[];
  readonly turn: number;
}

/** Conversations that are between two turns or have not begun. */
export interface Pool {
  put(conversation: Conversation): void;
  /** Takes the conversation that has been idle longest. Waits if there is none. */
  take(): Promise<Conversation>;
}

export function createPool(): Pool {
  const resting: Conversation[] = [];
  const waiting: ((conversation: Conversation) => void)[] = [];
  return {
    put: (conversation) => {
      const first = waiting.shift();
      if (first) first(conversation);
      else resting.push(conversation);
    },
    take: () => {
      const first = resting.shift();
      return first ? Promise.resolve(first) : new Promise((resolve) => waiting.push(resolve));
    },
  };
}

export const newConversation = (place: Place): Conversation => ({
  place,
  messages: opening,
  turn: 0,
});

export async function load({ perSecond, seconds, pool, ended }: LoadOptions): Promise<LoadResult> {
  const agent = new Agent({ keepAlive: true, maxSockets: 128 });
  const latencies: number[] = [];
  let failed = 0;

  const turn = async (due: number): Promise<void> => {
    const { place, messages, turn: index } = await pool.take();
    try {
      const { message } = await complete(agent, place, requestBody(messages));
      latencies.push(performance.now() - due);
      const calls = (message['tool_calls'] ?? []) as readonly { readonly id: string }[];
      const results = calls.map(({ id }) => ({
        role: 'tool',
        tool_call_id: id,
        content: toolResult,
      }));
      if (index + 1 < turnsPerConversation)
        pool.put({ place, messages: [...messages, message, ...results], turn: index + 1 });
      else ended(place);
    } catch {
      failed++;
      ended(place);
    }
  };

  const start = performance.now();
  const turns: Promise<void>[] = [];
  while (turns.length < perSecond * seconds) {
    const now = performance.now();
    while (turns.length < perSecond * seconds && start + (turns.length * 1000) / perSecond <= now) {
      turns.push(turn(start + (turns.length * 1000) / perSecond));
    }
    await new Promise((resolve) => setTimeout(resolve, 1));
  }
  await Promise.all(turns);
  const took = (performance.now() - start) / 1000;
  agent.destroy();
  return {
    latencies: latencies.toSorted((a, b) => a - b),
    failed,
    perSecond: latencies.length / took,
  };
}

/** Sends one client's prompts of six megabytes one after the other, which should not slow down other clients. */
export async function sendLargePrompts(place: Place, until: () => boolean): Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const content = 'Where is "the order"\nthat I placed on Monday? '.repeat(6e6 / 46);
  // The prompt is longer than the model's limit, so it is refused once it is tokenized.
  const body = Buffer.from(requestBody([{ role: 'user', content }]));
  while (!until()) await complete(agent, place, body).catch(() => undefined);
  agent.destroy();
}

const requestBody = (messages: readonly Message[]): string =>
  JSON.stringify({ model: 'bench', messages, tools });

function complete(
  agent: Agent,
  { baseURL, apiKey }: Place,
  body: string | Buffer,
): Promise<{ readonly message: Message }> {
  const headers = {
    authorization: `Bearer ${apiKey}`,
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
  };
  return new Promise((resolve, reject) => {
    const sent = request(
      `${baseURL}/chat/completions`,
      { agent, method: 'POST', headers },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (piece: string) => (text += piece));
        response.on('error', reject).on('end', () => {
          if (response.statusCode !== 200)
            return reject(new RangeError(`${response.statusCode}: ${text}`));
          const { choices } = JSON.parse(text) as {
            readonly choices: readonly [{ readonly message: Message }];
          };
          return resolve(choices[0]);
        });
      },
    );
    sent.on('error', reject).end(body);
  });
}
