/** One connection to an MCP server, which is the run's own. */
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import { ConfigError, describeError, type EnvironmentError } from '@trinity-rft/core';
import { broken, cancelled, type Patience } from '../../waiting/within.js';

/** A program that speaks over its standard input and output, or an address. */
export type McpServer =
  | {
      readonly command: string;
      readonly args?: readonly string[];
      /** On top of the few variables that the SDK passes on, such as PATH. */
      readonly env?: Readonly<Record<string, string>>;
      /** @default the folder of the episode */
      readonly cwd?: string;
    }
  | {
      /** Of a server that speaks streamable HTTP; each episode has a session. */
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>>;
    };

export interface McpConnection {
  readonly tools: readonly Tool[];
  /** `refused`: the server does not take the call, and says why. */
  call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    patience: Patience,
  ): Promise<{ readonly text: string; readonly refused: boolean }>;
  close(): Promise<void>;
}

/** Of what a server wrote to standard error, in characters. */
const keptLength = 1000;

/** @throws EnvironmentError, ConfigError when the SDK is not installed, CancelledError */
export async function connectMcp(
  server: McpServer,
  folder: string,
  patience: Patience,
): Promise<McpConnection> {
  const sdk = await importSdk();
  const name = nameOf(server);
  const client = new sdk.Client({ name: 'trinity-rft', version: '1' });
  const { transport, lastWords } = openTransport(sdk, server, folder);
  const options = { timeout: patience.ms, maxTotalTimeout: patience.ms, signal: patience.signal };
  const close = (): Promise<void> => client.close().catch(() => undefined);
  try {
    await client.connect(transport, options);
    const tools = await listTools(client, options);
    return { tools, call: caller(sdk, client, name, lastWords), close };
  } catch (error) {
    await close();
    if (patience.signal.aborted) throw cancelled(patience.signal);
    throw notStarted(name, error, lastWords());
  }
}

type Sdk = Awaited<ReturnType<typeof importSdk>>;

/** @throws ConfigError */
async function importSdk() {
  try {
    const [{ Client }, stdio, http, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/stdio.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    return { Client, ...stdio, ...http, McpError: types.McpError, ErrorCode: types.ErrorCode };
  } catch (cause) {
    throw new ConfigError(
      'Environments over MCP need the package @modelcontextprotocol/sdk. Install it: npm install @modelcontextprotocol/sdk.',
      { code: 'PACKAGE_MISSING', cause },
    );
  }
}

function openTransport(sdk: Sdk, server: McpServer, folder: string) {
  if ('url' in server) {
    const requestInit = { headers: { ...server.headers } };
    const transport = new sdk.StreamableHTTPClientTransport(new URL(server.url), { requestInit });
    return { transport: transport as Transport, lastWords: () => '' };
  }
  const { command, args = [], env, cwd = folder } = server;
  const transport = new sdk.StdioClientTransport({
    command,
    args: [...args],
    env: { ...sdk.getDefaultEnvironment(), ...env },
    cwd,
    stderr: 'pipe',
  });
  let words = '';
  transport.stderr?.on('data', (data: Buffer) => {
    words = (words + data.toString()).slice(-keptLength);
  });
  return { transport: transport as Transport, lastWords: () => words.trim() };
}

async function listTools(client: Client, options: object): Promise<readonly Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  do {
    const page = await client.listTools({ cursor }, options);
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

function caller(
  { McpError, ErrorCode }: Sdk,
  client: Client,
  name: string,
  lastWords: () => string,
): McpConnection['call'] {
  return async (tool, args, { ms, signal }) => {
    try {
      const options = { timeout: ms, maxTotalTimeout: ms, signal };
      const result = await client.callTool({ name: tool, arguments: args }, undefined, options);
      return { text: textOf(result as CallToolResult), refused: result.isError === true };
    } catch (error) {
      if (signal.aborted) throw cancelled(signal);
      if (error instanceof McpError && Number(error.code) === Number(ErrorCode.InvalidParams))
        return { text: error.message, refused: true };
      throw failed(name, tool, error, lastWords());
    }
  };
}

/** The texts, else what the result holds as data. */
function textOf({ content, structuredContent }: CallToolResult): string {
  const texts = content.map((part) => {
    if (part.type === 'text') return part.text;
    if (part.type === 'resource' && 'text' in part.resource) return part.resource.text;
    return `[${part.type}]`;
  });
  return texts.length === 0 && structuredContent
    ? JSON.stringify(structuredContent)
    : texts.join('\n');
}

function nameOf(server: McpServer): string {
  if ('command' in server) return `\`${[server.command, ...(server.args ?? [])].join(' ')}\``;
  const { origin, pathname } = new URL(server.url);
  return `${origin}${pathname}`;
}

const said = (lastWords: string): string =>
  lastWords === '' ? '' : ` It wrote last: ${lastWords}`;

const notStarted = (name: string, cause: unknown, lastWords: string): EnvironmentError =>
  broken(
    'ENVIRONMENT_START_FAILED',
    `The MCP server ${name} did not start: ${describeError(cause)}. Run the command, or open the address, by hand.${said(lastWords)}`,
    cause,
  );

const failed = (name: string, tool: string, cause: unknown, lastWords: string): EnvironmentError =>
  broken(
    'ENVIRONMENT_SERVER',
    `The MCP server ${name} failed at the tool "${tool}": ${describeError(cause)}.${said(lastWords)}`,
    cause,
  );
