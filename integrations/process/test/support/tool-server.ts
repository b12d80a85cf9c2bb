/** Serves an agent's tools over HTTP, for agents that are programs. */
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AgentTool } from '@trinity-rft/testing';

export interface ToolServer {
  readonly url: string;
  /** Adds tools under a new path. @returns the path */
  add(tools: readonly AgentTool[]): string;
  close(): Promise<void>;
}

export async function openToolServer(): Promise<ToolServer> {
  const sets: (readonly AgentTool[])[] = [];
  const server = createServer((request, response) => {
    const [, set, name] = (request.url ?? '').split('/');
    void body(request).then((text) => response.end(execute(sets[Number(set)] ?? [], name, text)));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    add: (tools) => `${url}/${sets.push(tools) - 1}`,
    close: () => new Promise((resolve) => server.close(() => resolve())),
  };
}

/** Runs a tool. Invalid input is answered with an error text, as a tool would answer. */
function execute(tools: readonly AgentTool[], name: string | undefined, text: string): string {
  const tool = tools.find((each) => each.name === name);
  if (!tool) return `There is no tool ${name}.`;
  try {
    const input = JSON.parse(text) as { readonly city?: unknown };
    return typeof input.city === 'string' ? tool.execute(input) : 'city must be text.';
  } catch {
    return 'The arguments are not JSON.';
  }
}

async function body(request: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
}
