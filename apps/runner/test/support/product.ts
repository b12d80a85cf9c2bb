/** Starts `trinity serve` for a test, with the clients of a product that uses the server. */
import { createServeClient, type ServeClient } from '@trinity-rft/serve';
import { OpenAI } from 'openai';
import { startTrinity, type StartOptions, type Trinity } from './trinity.js';

export interface Product {
  readonly server: Trinity;
  readonly client: ServeClient;
  readonly openai: OpenAI;
  /** Asks the model one question. */
  ask(question?: string): Promise<OpenAI.Chat.ChatCompletion>;
}

export const serveKey = 'key-of-the-product-0123456789';

/** Starts `trinity serve` on any free port and waits until it serves. */
export async function startProduct(
  cwd: string,
  args: readonly string[],
  options: StartOptions = {},
): Promise<Product> {
  const server = startTrinity(cwd, ['serve', '--port', '0', ...args], {
    ...options,
    env: { TRINITY_SERVE_KEY: serveKey, ...options.env },
  });
  return { server, ...productOf(await addressOf(server)) };
}

export function productOf(baseUrl: string): Omit<Product, 'server'> {
  const client = createServeClient({ baseUrl, apiKey: serveKey });
  const openai = new OpenAI({ ...client.openai(), maxRetries: 0 });
  return {
    client,
    openai,
    ask: (question = '7+5=') =>
      openai.chat.completions.create({
        model: 'any',
        messages: [{ role: 'user', content: question }],
      }),
  };
}

async function addressOf(server: Trinity): Promise<string> {
  for (;;) {
    const url = /OpenAI base URL: (\S+)/.exec(server.output())?.[1];
    if (url !== undefined) return url;
    if (server.child.exitCode !== null || server.child.signalCode !== null)
      throw new Error(`The server has ended: ${server.output()}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** Polls until the condition holds, up to the timeout of the test. */
export async function until(holds: () => Promise<boolean>): Promise<void> {
  while (!(await holds())) await new Promise((resolve) => setTimeout(resolve, 20));
}
