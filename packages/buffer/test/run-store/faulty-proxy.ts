/** A TCP proxy between a store and its server, with the faults of a network. */
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

export interface FaultyProxy {
  readonly port: number;
  /** Sets the fault that affects connections from now on. */
  set(fault: Fault): void;
  /** Forwards half of the received data, and cuts all connections. */
  cut(): void;
  close(): Promise<void>;
}

/**
 * `swallow`: no data arrives any more, but connections remain open. `half a request` and `half an
 * answer`: half of the next request or answer is forwarded, then the connection ends.
 */
export type Fault =
  | 'none'
  | 'swallow'
  | 'half a request'
  | 'half an answer'
  | { readonly delayMs: number };

export async function faultyProxy(target: number): Promise<FaultyProxy> {
  let fault: Fault = 'none';
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    const halve = (data: Buffer, to: Socket): void => {
      fault = 'none';
      to.end(data.subarray(0, data.length >> 1));
    };
    client.on('data', (data) => {
      if (fault === 'half a request') halve(data, upstream);
      else pass(data, upstream);
    });
    upstream.on('data', (data) => {
      if (fault === 'half an answer') halve(data, client);
      else pass(data, client);
    });
  });
  const pass = (data: Buffer, to: Socket): void => {
    if (fault === 'swallow') return;
    if (typeof fault === 'object') setTimeout(() => to.write(data), fault.delayMs);
    else to.write(data);
  };
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (): void => {
    for (const socket of open) socket.destroy();
  };
  return {
    port: (server.address() as AddressInfo).port,
    set: (next) => (fault = next),
    cut,
    close: () => {
      cut();
      return new Promise((resolve) => server.close(() => resolve()));
    },
  };
}
