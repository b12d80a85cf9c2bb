import { ConfigError } from '@trinity-rft/core';

export type StoreUrl =
  | { readonly kind: 'sqlite'; readonly path: string }
  | { readonly kind: 'postgres'; readonly url: string };

/**
 * Parses the URL of a run store.
 * @throws ConfigError for an unsupported URL; the message lists the supported formats, and never
 * contains a password
 */
export function parseStoreUrl(url: string): StoreUrl {
  const [, scheme] = /^([a-z][a-z+]+):\/\//i.exec(url) ?? [];
  if (scheme === undefined) return { kind: 'sqlite', path: url };
  // As in SQLAlchemy, an absolute path begins with a fourth slash.
  if (url.startsWith('sqlite:///')) return { kind: 'sqlite', path: url.slice('sqlite:///'.length) };
  if (scheme === 'postgresql' || scheme === 'postgres')
    return { kind: 'postgres', url: checked(url) };
  throw new ConfigError(
    `A run store cannot be opened by an address that begins with "${scheme}:"; expected sqlite:///relative.db, sqlite:////absolute.db, postgresql://user:password@host:port/database, or the path of a file.`,
    { code: 'STORE_URL' },
  );
}

function checked(url: string): string {
  if (URL.canParse(url) && new URL(url).pathname.length > 1) return url;
  throw new ConfigError(
    'The address of the PostgreSQL server cannot be read, or names no database; expected postgresql://user:password@host:port/database, with special characters of the password written as %XX.',
    { code: 'STORE_URL' },
  );
}
