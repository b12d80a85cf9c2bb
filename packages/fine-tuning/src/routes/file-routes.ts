/** HTTP routes for files, which are uploaded training data and result files of jobs. */
import { open } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { readBytes } from '@trinity-rft/http-server';
import type { Hono } from 'hono';
import type { FileStore } from '../store/files.js';
import { isOver, type JobStore } from '../store/jobs.js';
import { pageOf } from '../wire/page.js';
import { refused, unknownParameter } from '../wire/refuse.js';
import type { Brought } from './model-routes.js';
import { queryOf } from './read-request.js';

/** Maximum size of an upload, in bytes, as in OpenAI's service. */
const mostBytes = 512 * 2 ** 20;

export function addFileRoutes(app: Hono<Brought>, files: FileStore, jobs: JobStore): void {
  app.post('/v1/files', async ({ req, json }) => {
    const { name, bytes } = await readUpload(req.raw);
    return json(await files.create(bytes, { filename: name, purpose: 'fine-tune' }));
  });
  app.get('/v1/files', ({ req, json }) => {
    const query = queryOf(req.raw);
    const [purpose, order] = [query.get('purpose'), query.get('order')];
    const fitting = files.list().filter((file) => purpose === null || file.purpose === purpose);
    const all = order === 'asc' ? fitting.toReversed() : fitting;
    return json(pageOf(all, query, { most: 10_000, usual: 10_000 }));
  });
  app.get('/v1/files/:id', ({ req, json }) => json(files.get(req.param('id'))));
  app.get('/v1/files/:id/content', async ({ req, body }) => {
    // Opened before the response begins, so that a missing file is answered as other errors are.
    const file = await open(files.pathOf(req.param('id')));
    const bytes = Readable.toWeb(file.createReadStream());
    return body(bytes as ReadableStream, 200, { 'content-type': 'application/octet-stream' });
  });
  app.delete('/v1/files/:id', async ({ req, json }) => {
    const id = req.param('id');
    const user = jobs
      .list()
      .find(
        ({ status, training_file, validation_file }) =>
          !isOver(status) && [training_file, validation_file].includes(id),
      );
    if (files.get(id) && user)
      throw refused(`The file is used by the job ${user.id}, which has not ended.`, {
        param: 'id',
        code: 'file_in_use',
      });
    await files.delete(id);
    return json({ id, object: 'file', deleted: true });
  });
}

interface Upload {
  readonly name: string;
  readonly bytes: Uint8Array;
}

async function readUpload(request: Request): Promise<Upload> {
  const type = request.headers.get('content-type') ?? '';
  if (!/^multipart\/form-data\b/i.test(type))
    throw refused(`The content type is "${type.slice(0, 100)}". Expected multipart/form-data.`, {
      param: 'file',
    });
  const body = await readBytes(request, { maxBytes: mostBytes });
  const form = await new Response(body, { headers: { 'content-type': type } })
    .formData()
    .catch(() => {
      throw refused('The body is not valid multipart/form-data.', { param: 'file' });
    });
  const names = [...form.keys()];
  const unknown = names.find((name) => name !== 'file' && name !== 'purpose');
  if (unknown !== undefined) throw unknownParameter(unknown);
  const twice = names.find((name, i) => names.indexOf(name) < i);
  if (twice !== undefined)
    throw refused(`Invalid value for '${twice}': it is given twice. Upload one file at a time.`, {
      param: twice,
    });
  const [file, purpose] = [form.get('file'), form.get('purpose')];
  if (purpose !== 'fine-tune')
    throw refused(
      purpose === null
        ? "Missing required parameter: 'purpose'."
        : "Invalid value for 'purpose': this server keeps files for fine-tune only.",
      { param: 'purpose' },
    );
  if (file === null || typeof file === 'string')
    throw refused("Missing required parameter: 'file'.", { param: 'file' });
  if (!file.name.toLowerCase().endsWith('.jsonl'))
    throw refused(
      `Invalid file format for ${file.name.slice(0, 100)}: expected a file whose name ends with .jsonl.`,
      { param: 'file', code: 'invalid_file_format' },
    );
  if (file.size === 0) throw refused('The file is empty.', { param: 'file', code: 'empty_file' });
  return { name: file.name, bytes: new Uint8Array(await file.arrayBuffer()) };
}
