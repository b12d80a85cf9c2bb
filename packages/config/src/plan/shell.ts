/** Helpers for the commands that a plan prints. */
import type { ModelConfig } from '../resolve/base/resolved.js';

/** Returns the options that make a server listen at `address`. */
export function addressOptions(address: string): readonly string[] {
  const { hostname, port, protocol } = new URL(address);
  const isLocal = /^(?:localhost|127\.|\[::1\])/.test(hostname);
  const ownPort = port === '' ? (protocol === 'https:' ? '443' : '80') : port;
  return ['--host', isLocal ? '127.0.0.1' : '0.0.0.0', '--port', ownPort];
}

/**
 * Returns the name by which a server loads the model: the hub id if it has the form `owner/name`,
 * because this is valid on every machine, otherwise the path.
 */
export const servedModel = ({ hubId, modelPath }: ModelConfig): string =>
  hubId !== undefined && /^[\w.-]+\/[\w.-]+$/.test(hubId) ? hubId : modelPath;
