/** Proxy between a program that exchanges lines and the process that started it. */
import { createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { createInterface } from 'node:readline';
import type { Readable, Writable } from 'node:stream';
import { fileURLToPath } from 'node:url';
import { type ChaosOptions, createLane } from './faults.js';

export interface Program {
  readonly input: Writable;
  readonly output: Readable;
  end(): void;
}

export interface StdioProxy {
  /** Command to start instead of the program. */
  readonly command: string;
  readonly args: readonly string[];
  close(): Promise<void>;
}

/** @param start starts the program with the arguments that the relay was given */
export async function stdioProxy(
  start: (args: readonly string[]) => Program,
  chaos: ChaosOptions,
): Promise<StdioProxy> {
  const open = new Set<Socket>();
  const server = createServer((socket) => {
    open.add(socket);
    socket.once('close', () => open.delete(socket));
    connect(socket, start, chaos);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const relay = fileURLToPath(new URL('relay.mjs', import.meta.url));
  return {
    command: process.execPath,
    args: [relay, String((server.address() as AddressInfo).port)],
    close: async () => {
      for (const socket of open) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function connect(
  socket: Socket,
  start: (args: readonly string[]) => Program,
  chaos: ChaosOptions,
): void {
  let program: Program | undefined;
  const kill = (): void => {
    socket.destroy();
    program?.end();
  };
  const send =
    (to: Writable) =>
    (message: string, isCut = false): void => {
      if (to.writable) to.write(isCut ? message : `${message}\n`);
    };
  let toProgram: ((line: string) => void) | undefined;
  createInterface({ input: socket }).on('line', (line) => {
    if (toProgram) return toProgram(line);
    const started = start(JSON.parse(line) as string[]);
    program = started;
    toProgram = createLane({ ...chaos, kill, send: send(started.input) });
    const toUs = createLane({ ...chaos, kill, send: send(socket) });
    createInterface({ input: started.output }).on('line', toUs).on('close', kill);
    started.input.on('error', kill);
  });
  socket.on('close', kill).on('error', kill);
}
