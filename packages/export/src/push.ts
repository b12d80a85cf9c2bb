/** Uploads an exported folder to the Hugging Face hub. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRepo, repoExists, uploadFiles } from '@huggingface/hub';
import { ConfigError, describeError, ModelError } from '@trinity-rft/core';

/**
 * Names of files that are not uploaded. `export.json` contains names of folders on this machine.
 */
const kept = new Set(['export.json']);

/**
 * Uploads the folder's files to a repository, and replaces files of the same name. Creates a
 * private repository if there is none. Uses the hub at `HF_ENDPOINT`, if set.
 * @param repository `OWNER/NAME`
 * @returns address of the repository
 * @throws ConfigError if the name is not `OWNER/NAME` or `HF_TOKEN` is not set, ModelError if the
 * upload fails
 */
export async function pushFolder(
  folder: string,
  repository: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  if (!/^[\w.-]+\/[\w.-]+$/.test(repository))
    throw new ConfigError(`--push is "${repository}". Expected OWNER/NAME.`, {
      code: 'ARGUMENT_INVALID',
    });
  const accessToken = env['HF_TOKEN'];
  if (!accessToken)
    throw new ConfigError(
      'HF_TOKEN is not set, and --push needs a token that may write. The folder is complete; upload it later.',
      { code: 'HF_TOKEN' },
    );
  const hubUrl = env['HF_ENDPOINT'] || undefined;
  const repo = { type: 'model', name: repository } as const;
  const names = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile() && !kept.has(entry.name))
    .map((entry) => path.join(entry.parentPath, entry.name));
  try {
    if (!(await repoExists({ repo, accessToken, hubUrl })))
      await createRepo({ repo, accessToken, hubUrl, visibility: 'private' });
    await uploadFiles({
      repo,
      accessToken,
      hubUrl,
      files: names.map((name) => ({
        path: path.relative(folder, name).replaceAll(path.sep, '/'),
        content: pathToFileURL(name),
      })),
      commitTitle: 'Upload a model trained with Trinity-RFT for TypeScript',
    });
  } catch (cause) {
    throw new ModelError(
      `The hub did not take ${repository}: ${describeError(cause)}. The folder is complete; upload it later.`,
      { status: 502, code: 'HUB_UPLOAD', cause },
    );
  }
  return `${hubUrl ?? 'https://huggingface.co'}/${repository}`;
}
