/** Uploads an exported folder to the Hugging Face hub. */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { pathToFileURL } from 'node:url';
import { createRepo, repoExists, uploadFiles } from '@huggingface/hub';
import { ConfigError, describeError, ModelError } from '@trinity-rft/core';
import type { ExportReport } from './export-model.js';

/**
 * Uploads the folder's files to a repository of the hub, replacing files with the same names.
 * Creates a private repository if it does not exist. Of `export.json`, uploads only the fields that
 * `loadModel` needs. Uses the hub at `HF_ENDPOINT` if this variable is set.
 * @param repository `OWNER/NAME`
 * @returns URL of the repository
 * @throws ConfigError as {@link readPush} does; ModelError if the upload fails
 */
export async function pushFolder(
  folder: string,
  repository: string,
  env: Readonly<Record<string, string | undefined>>,
): Promise<string> {
  const accessToken = readPush(repository, env);
  const hubUrl = env['HF_ENDPOINT'] || undefined;
  const repo = { type: 'model', name: repository } as const;
  const names = (await readdir(folder, { recursive: true, withFileTypes: true }))
    .filter((entry) => entry.isFile())
    .map((entry) => path.join(entry.parentPath, entry.name));
  const files = await Promise.all(
    names.map(async (name) => ({
      path: path.relative(folder, name).replaceAll(path.sep, '/'),
      content: path.basename(name) === 'export.json' ? await shared(name) : pathToFileURL(name),
    })),
  );
  try {
    if (!(await repoExists({ repo, accessToken, hubUrl })))
      await createRepo({ repo, accessToken, hubUrl, visibility: 'private' });
    await uploadFiles({
      repo,
      accessToken,
      hubUrl,
      files,
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

/**
 * Checks the settings of an upload and returns the access token. Callers can thus find wrong
 * settings before they write the folder.
 * @throws ConfigError if the name is not `OWNER/NAME` or `HF_TOKEN` is not set
 */
export function readPush(
  repository: string,
  env: Readonly<Record<string, string | undefined>>,
): string {
  if (!/^[\w.-]+\/[\w.-]+$/.test(repository))
    throw new ConfigError(`--push is "${repository}". Expected OWNER/NAME.`, {
      code: 'ARGUMENT_INVALID',
    });
  const token = env['HF_TOKEN'];
  if (token) return token;
  throw new ConfigError(
    'HF_TOKEN is not set. --push needs a token of the hub that may write: set it.',
    { code: 'HF_TOKEN' },
  );
}

/** Returns `export.json` without facts about this machine, such as folder names. */
async function shared(file: string): Promise<Blob> {
  const report = JSON.parse(await readFile(file, 'utf8')) as ExportReport;
  const { version, file: main, chat } = report;
  return new Blob([`${JSON.stringify({ version, file: main, chat }, null, 2)}\n`]);
}
