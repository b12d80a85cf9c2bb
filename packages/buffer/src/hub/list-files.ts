/** Lists the files of a repository on the hub, with the digests by which downloads are verified. */
import { hubUrlOf } from '@trinity-rft/core/support';
import { hubAccess, isInside, type Environment } from './hub-access.js';
import type { RemoteFile } from './fetch-file.js';
import type { StallGuard } from './stall-guard.js';

interface Repository {
  readonly type: 'dataset' | 'model';
  /** Hub id: `owner/name`. */
  readonly name: string;
  readonly revision: string;
}

/**
 * Returns the files of a repository, keyed by path. No path leads outside of the repository's
 * folder.
 */
export async function listRemoteFiles(
  { revision, ...repo }: Repository,
  environment: Environment,
  guard: StallGuard,
): Promise<ReadonlyMap<string, RemoteFile>> {
  // Loaded on first use, because most training runs read local files.
  const { listFiles } = await import('@huggingface/hub');
  const access = hubAccess(environment, guard);
  const place = `${hubUrlOf(environment)}/${repo.type === 'dataset' ? 'datasets/' : ''}${repo.name}`;
  const found = new Map<string, RemoteFile>();
  for await (const entry of listFiles({ ...access, repo, revision, recursive: true })) {
    const { type, path, size, oid = '', lfs } = entry;
    if (type !== 'file' || !isInside(path)) continue;
    const digest = lfs
      ? ({ kind: 'sha256', hex: lfs.oid } as const)
      : ({ kind: 'git', hex: oid } as const);
    const address = path.split('/').map(encodeURIComponent).join('/');
    found.set(path, { path, url: `${place}/resolve/${revision}/${address}`, size, digest });
  }
  return found;
}
