/**
 * Local registry with our packed packages, which it serves as the public registry will serve the
 * published ones.
 */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createPackageFromTarballData } from '@arethetypeswrong/core';
import { readTarball, type PackedPackage } from './pack.ts';

export interface LocalRegistry {
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Opens the registry. It answers requests for the document of a package by name, and for its tarball.
 */
export async function openRegistry(packages: readonly PackedPackage[]): Promise<LocalRegistry> {
  const server = createServer((request, response) => {
    const path = decodeURIComponent((request.url ?? '').slice(1));
    const url = `http://${request.headers.host}`;
    const found = packages.find(({ manifest }) => path === manifest.name);
    const tarball = packages.find((packed) => path === tarballPath(packed));
    if (found !== undefined) {
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(documentOf(found, url)));
    } else if (tarball !== undefined) response.end(readTarball(tarball));
    else response.writeHead(404).end('{}');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    async close() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}

const tarballPath = ({ manifest }: PackedPackage): string =>
  `${manifest.name}/-/${manifest.version}.tgz`;

function documentOf(packed: PackedPackage, url: string): object {
  const { name, version = '' } = packed.manifest;
  const data = readTarball(packed);
  const text = createPackageFromTarballData(data).readFile(`/node_modules/${name}/package.json`);
  const dist = {
    tarball: `${url}/${tarballPath(packed)}`,
    integrity: `sha512-${createHash('sha512').update(data).digest('base64')}`,
  };
  return {
    name,
    'dist-tags': { latest: version },
    // Package managers that only accept versions older than a day must accept this one.
    time: { [version]: '2026-01-01T00:00:00.000Z' },
    versions: { [version]: { ...(JSON.parse(text) as object), dist } },
  };
}
