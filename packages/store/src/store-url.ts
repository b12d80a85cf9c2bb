/** Where a run store is. */
import { fileURLToPath } from 'node:url';
import { ConfigError } from '@trinity-rft/core';

export interface StoreUrl {
  readonly path: string;
}

/** @throws ConfigError naming the forms that are known */
export function parseStoreUrl(url: string): StoreUrl {
  if (url.startsWith('sqlite:///')) return { path: fileURLToPath(`file:///${url.slice(10)}`) };
  if (!/^[a-z+]{2,}:\/\//i.test(url)) return { path: url };
  const scheme = url.slice(0, url.indexOf(':'));
  throw new ConfigError(
    `A run store cannot be opened by an address that begins with "${scheme}:"; expected sqlite:///path/of/run.db, or the path of a file.`,
    { code: 'STORE_URL' },
  );
}
