/** Connection of one episode to an MCP server. */
import { existsSync } from 'node:fs';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { CallToolResult, Tool } from '@modelcontextprotocol/sdk/types.js';
import {
  ConfigError,
  describeError,
  type EnvironmentError,
  type TrinityError,
} from '@trinity-rft/core';
import {
  atExit,
  isProcessAlive,
  knowSecretHeaders,
  knowSecretsOf,
} from '@trinity-rft/core/support';
import { broken, cancelled, type Patience, within } from '../../waiting/within.js';
import type { McpServer } from './server.js';

export interface McpConnection {
  readonly tools: readonly Tool[];
  /** Calls a tool. `refused` is true if the server rejected the call; `text` is then the reason. */
  call(
    name: string,
    args: Readonly<Record<string, unknown>>,
    patience: Patience,
  ): Promise<{ readonly text: string; readonly refused: boolean }>;
  /**
   * Waits for all pending responses, and checks that each of them belongs to exactly one call. An
   * extra response may mean that the server executed a call twice and so changed its state twice.
   * @throws EnvironmentError if the server does not answer a ping or a response belongs to no call,
   * and CancelledError on abort
   */
  settle(patience: Patience): Promise<void>;
  close(): Promise<void>;
}

/** Number of characters kept from the end of the server's standard error. */
const keptLength = 1000;

/**
 * Connects to a server.
 * @param isFirst true until a server of the environment has started
 * @throws EnvironmentError if the connection fails, ConfigError if the SDK is missing, or if the
 * program of the first server cannot be started or lists a tool that the SDK rejects, and
 * CancelledError on abort
 */
export async function connectMcp(
  server: McpServer,
  folder: string,
  patience: Patience,
  isFirst: boolean,
): Promise<McpConnection> {
  const sdk = await importSdk();
  const name = nameOf(server);
  const client = new sdk.Client({ name: 'trinity-rft', version: '1' });
  const { transport, lastWords, endSession } = openTransport(sdk, server, folder);
  const strays = countStrays(transport);
  const options = { timeout: patience.ms, maxTotalTimeout: patience.ms, signal: patience.signal };
  const close = async (): Promise<void> => {
    await within(endPatience, () => failed(name, 'close', 'timeout', ''), endSession).catch(ignore);
    await client.close().catch(ignore);
  };
  try {
    await client.connect(transport, options);
    const tools = await listTools(sdk, client, options);
    const settle = settler(sdk, client, name, strays);
    return { tools, call: caller(sdk, client, name, lastWords), settle, close };
  } catch (error) {
    await close();
    if (patience.signal.aborted) throw cancelled(patience.signal);
    if (error instanceof RejectedTool) throw cannotRead(server, error, isFirst);
    const isMistake = isFirst && isMissing(error);
    throw notStarted(server, error, lastWords(), isMistake);
  }
}

/**
 * Time limit for ending a session with a server. If the server does not respond in time, it must
 * end the session itself.
 */
const endPatience: Patience = { ms: 5000, signal: new AbortController().signal };

const ignore = (): void => undefined;

type Sdk = Awaited<ReturnType<typeof importSdk>>;

/**
 * Imports the optional MCP SDK.
 * @throws ConfigError if the SDK is not installed
 */
async function importSdk() {
  try {
    const [{ Client }, stdio, http, types] = await Promise.all([
      import('@modelcontextprotocol/sdk/client/index.js'),
      import('@modelcontextprotocol/sdk/client/stdio.js'),
      import('@modelcontextprotocol/sdk/client/streamableHttp.js'),
      import('@modelcontextprotocol/sdk/types.js'),
    ]);
    return { Client, ...stdio, ...http, ...types };
  } catch (cause) {
    throw new ConfigError(
      'Environments over MCP need the package @modelcontextprotocol/sdk. Install it: npm install @modelcontextprotocol/sdk.',
      { code: 'PACKAGE_MISSING', cause },
    );
  }
}

function openTransport(sdk: Sdk, server: McpServer, folder: string) {
  if ('url' in server) {
    knowSecretHeaders(server.headers ?? {});
    const requestInit = { headers: { ...server.headers } };
    const transport = new sdk.StreamableHTTPClientTransport(new URL(server.url), { requestInit });
    const endSession = (): Promise<void> => transport.terminateSession();
    return { transport: transport as Transport, lastWords: () => '', endSession };
  }
  const { command, args = [], env = {}, cwd = folder } = server;
  knowSecretsOf(env);
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
  const start = transport.start.bind(transport);
  let isOver = ignore;
  transport.onclose = () => isOver();
  transport.start = async () => {
    await start();
    const { pid } = transport;
    // This process may exit before the SDK has killed a program that outlives its input. If the
    // program is a wrapper, such as npx, its own child is not killed: the SDK starts no group.
    isOver = atExit(() => {
      if (pid !== null && isProcessAlive(pid)) process.kill(pid, 'SIGKILL');
    });
  };
  const endSession = async (): Promise<void> => undefined;
  return { transport: transport as Transport, lastWords: () => words.trim(), endSession };
}

/**
 * Counts the unexpected responses on a connection: those to requests that were never sent or
 * already had a response.
 * @returns a function that returns the count so far
 */
function countStrays(transport: Transport): () => number {
  const asked = new Set<string | number>();
  let strays = 0;
  const send = transport.send.bind(transport);
  transport.send = (message, options) => {
    if ('method' in message && 'id' in message) asked.add(message.id);
    return send(message, options);
  };
  // The client calls this handler in addition to the client's own handler.
  transport.onmessage = (message) => {
    if ('method' in message || message.id === undefined) return;
    if (!asked.delete(message.id)) strays++;
  };
  return () => strays;
}

/**
 * Creates the function {@link McpConnection.settle}. It sends a ping: responses on one connection
 * arrive in order, so the response to the ping arrives after all others.
 */
function settler(
  { McpError }: Sdk,
  client: Client,
  name: string,
  strays: () => number,
): McpConnection['settle'] {
  return async ({ ms, signal }) => {
    try {
      await client.ping({ timeout: ms, maxTotalTimeout: ms, signal });
    } catch (error) {
      if (signal.aborted) throw cancelled(signal);
      const isAnswer = error instanceof McpError && error.code === methodNotFound;
      if (!isAnswer) throw failed(name, 'ping', error, '');
    }
    if (strays() > 0) throw outOfOrder(name);
  };
}

/**
 * JSON-RPC error code "method not found". A server without support for ping responds with it, which
 * also shows that all earlier responses have arrived.
 */
const methodNotFound = -32_601;

/** @throws RejectedTool if the SDK rejects one of the tools */
async function listTools(sdk: Sdk, client: Client, options: object): Promise<readonly Tool[]> {
  const tools: Tool[] = [];
  let cursor: string | undefined;
  do {
    const asked = { cursor };
    const page = await client.listTools(asked, options).catch(async (error: unknown) => {
      if (error instanceof sdk.McpError) throw error;
      const request = { method: 'tools/list', params: asked };
      const listed = await client.request(request, sdk.ResultSchema, options);
      throw (await findRejected(sdk, listed)) ?? error;
    });
    tools.push(...page.tools);
    cursor = page.nextCursor;
  } while (cursor !== undefined);
  return tools;
}

/** A tool that the SDK rejects. The SDK's own error has its number at most. */
class RejectedTool extends Error {}

/** Checks the tools of a page one by one, as the SDK does. */
async function findRejected(
  { ToolSchema }: Sdk,
  { tools }: Readonly<Record<string, unknown>>,
): Promise<RejectedTool | undefined> {
  // Early versions of the SDK do not export their validator of output schemas.
  const ajv = await import('@modelcontextprotocol/sdk/validation/ajv').catch(() => undefined);
  for (const tool of Array.isArray(tools) ? (tools as unknown[]) : [])
    try {
      const { outputSchema } = ToolSchema.parse(tool);
      if (ajv && outputSchema) new ajv.AjvJsonSchemaValidator().getValidator(outputSchema);
    } catch (cause) {
      const { name } = Object(tool) as { readonly name?: unknown };
      return new RejectedTool(`${JSON.stringify(name)}: ${describeError(cause)}`, { cause });
    }
  return undefined;
}

function caller(
  { McpError, ErrorCode, CallToolResultSchema }: Sdk,
  client: Client,
  name: string,
  lastWords: () => string,
): McpConnection['call'] {
  return async (tool, args, { ms, signal }) => {
    // The client throws the same error if the server rejects the arguments as if the server's result
    // does not match the tool's output schema.
    let hasResult = false;
    const schema = CallToolResultSchema.refine(() => (hasResult = true));
    try {
      const options = { timeout: ms, maxTotalTimeout: ms, signal };
      const result = await client.callTool({ name: tool, arguments: args }, schema, options);
      return { text: textOf(result as CallToolResult), refused: result.isError === true };
    } catch (error) {
      if (signal.aborted) throw cancelled(signal);
      const isInvalid =
        error instanceof McpError && Number(error.code) === Number(ErrorCode.InvalidParams);
      if (isInvalid && !hasResult) return { text: error.message, refused: true };
      throw failed(name, tool, error, lastWords());
    }
  };
}

/**
 * Returns the text of a tool result. If it contains no text, returns its structured data as JSON.
 */
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

/** Returns true for an error of a program, or of its working folder, that is not there. */
const isMissing = (cause: unknown): boolean =>
  ['ENOENT', 'EACCES'].includes((cause as NodeJS.ErrnoException).code ?? '');

/**
 * Creates the error for a server that did not start. It is a ConfigError if it is a mistake, because
 * retries would fail in the same way.
 */
function notStarted(
  server: McpServer,
  cause: unknown,
  lastWords: string,
  isMistake: boolean,
): TrinityError {
  const code = 'ENVIRONMENT_START_FAILED';
  const cwd = 'command' in server ? server.cwd : undefined;
  // The error of a missing working folder names the program in its place.
  const why =
    isMissing(cause) && cwd !== undefined && !existsSync(cwd)
      ? `its working folder ${cwd} (cwd) does not exist.`
      : `${describeError(cause)}. Run the command, or open the address, by hand.`;
  const message = `The MCP server ${nameOf(server)} did not start: ${why}${said(lastWords)}`;
  return isMistake ? new ConfigError(message, { code, cause }) : broken(code, message, cause);
}

function cannotRead(server: McpServer, { message, cause }: Error, isMistake: boolean) {
  const code = 'ENVIRONMENT_START_FAILED';
  const text = `The MCP server ${nameOf(server)} lists a tool that cannot be read, ${message}. Correct the tool's schema in the server, or take the tool out of it.`;
  return isMistake ? new ConfigError(text, { code, cause }) : broken(code, text, cause);
}

const outOfOrder = (name: string): EnvironmentError =>
  broken(
    'ENVIRONMENT_ORDER',
    `The MCP server ${name} answered a request twice, so it may have acted twice. See its log, and what stands in between.`,
  );

const failed = (name: string, tool: string, cause: unknown, lastWords: string): EnvironmentError =>
  broken(
    'ENVIRONMENT_SERVER',
    `The MCP server ${name} failed at the tool "${tool}": ${describeError(cause)}.${said(lastWords)}`,
    cause,
  );
