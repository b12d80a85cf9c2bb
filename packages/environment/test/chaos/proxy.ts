/** Interface of all proxies of the tests. */
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

export interface Proxy {
  /** Address of the proxy: `http://HOST:PORT`. */
  readonly url: string;
  close(): Promise<void>;
}

export async function listening(server: Server): Promise<Proxy> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
