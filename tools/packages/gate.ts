/** Simulates the network of a user who can reach only the package registry. */
import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { RequestError, Server } from 'proxy-chain';

export interface Gate {
  /** Environment for a process and its children, whose connections then go through the gate or fail. */
  readonly env: Readonly<Record<string, string>>;
  /** Hosts to which connections were refused. */
  readonly refused: () => readonly string[];
  close(): Promise<void>;
}

/**
 * Opens a proxy to the registry, through the proxy of this process if it has one. Node processes cannot
 * bypass the proxy; they record attempts in `folder`.
 */
export async function openGate(registry: string, folder: string): Promise<Gate> {
  const { hostname: allowed } = new URL(registry);
  const upstreamProxyUrl = process.env['HTTPS_PROXY'] ?? process.env['https_proxy'] ?? null;
  const refused = new Set<string>();
  const server = new Server({
    host: '127.0.0.1',
    port: 0,
    prepareRequestFunction({ hostname }) {
      if (hostname === allowed) return { upstreamProxyUrl };
      refused.add(hostname);
      throw new RequestError(`Only ${allowed} is reachable here.`, 403);
    },
  });
  await server.listen();
  const attempts = join(folder, 'attempts.txt');
  return {
    env: environmentOf(`http://127.0.0.1:${server.port}`, attempts),
    refused: () => [...new Set([...refused, ...readLines(attempts)])],
    close: () => server.close(true),
  };
}

function environmentOf(proxy: string, attempts: string): Readonly<Record<string, string>> {
  const hook = pathToFileURL(join(import.meta.dirname, 'only-loopback.mjs')).href;
  const proxies = ['HTTP_PROXY', 'HTTPS_PROXY', 'http_proxy', 'https_proxy'];
  return {
    ...Object.fromEntries(proxies.map((name) => [name, proxy])),
    GLOBAL_AGENT_HTTPS_PROXY: proxy, // for the install script of onnxruntime-node
    NO_PROXY: '127.0.0.1,localhost',
    no_proxy: '127.0.0.1,localhost',
    NODE_OPTIONS: `--import=${hook}`,
    GATE_ATTEMPTS: attempts,
  };
}

const readLines = (file: string): readonly string[] =>
  existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : [];
