/** Adapters as archives: a gzipped tar of a PEFT folder. */
import { createHmac, timingSafeEqual } from 'node:crypto';
import { stat } from 'node:fs/promises';
import path from 'node:path';
import { Readable } from 'node:stream';
import type { Hono } from 'hono';
import { create } from 'tar';
import { Refusal } from '../refusals/refusal.js';
import type { Service } from '../service/service.js';

/** Of adapters in a checkpoint. */
const adapterFolder = 'lora_adapter';
const files = ['adapter_config.json', 'adapter_model.safetensors'];

const run = '/api/v1/training_runs/:run/checkpoints';

/** Clients fetch the archive from where the first answer sends them, without their key. */
export function addArchiveRoutes(app: Hono, { checkpoints }: Service, apiKey: string): void {
  /** SkyRL's clients leave the kind out. */
  for (const place of [`${run}/:name`, `${run}/sampler_weights/:name`]) {
    app.get(`${place}/archive`, (context) => {
      const download = new URL(context.req.url.replace(/archive$/, 'download'));
      download.searchParams.set(signature, sign(download, apiKey));
      return context.redirect(download.href, 302);
    });
    app.get(`${place}/download`, async (context) => {
      const { run: id = '', name = '' } = context.req.param() as Record<string, string>;
      const { directory } = await checkpoints.find(`tinker://${id}/sampler_weights/${name}`);
      const archive = Readable.from(await archiveOf(path.join(directory, adapterFolder), name));
      return context.body(Readable.toWeb(archive) as ReadableStream, 200, {
        'content-type': 'application/gzip',
      });
    });
  }
}

async function archiveOf(folder: string, name: string): Promise<AsyncIterable<Buffer>> {
  if (await stat(folder).catch(() => undefined))
    return create({ gzip: true, portable: true, cwd: folder }, files);
  throw new Refusal(404, `${name} holds all weights of the model, and no adapter.`);
}

const signature = 'signature';

const sign = ({ pathname }: URL, apiKey: string): string =>
  createHmac('sha256', apiKey).update(pathname).digest('hex');

/** The address is one that the holder of the key was sent to. */
export function isSigned(address: string, apiKey: string): boolean {
  const url = new URL(address);
  const given = Buffer.from(url.searchParams.get(signature) ?? '');
  const expected = Buffer.from(sign(url, apiKey));
  return given.length === expected.length && timingSafeEqual(given, expected);
}
