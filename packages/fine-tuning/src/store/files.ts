/** Uploaded files: bytes, and a record beside them. */
import { mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { noSuchFile } from '../wire/refuse.js';
import { newId, saveJson } from './save-json.js';

/** A file as the API shows it. */
interface FileRecord {
  readonly id: string;
  readonly object: 'file';
  readonly bytes: number;
  /** Unix time, in seconds. */
  readonly created_at: number;
  readonly filename: string;
  readonly purpose: 'fine-tune' | 'fine-tune-results';
  readonly status: 'processed';
}

export interface FileStore {
  /** Newest first. */
  list(): readonly FileRecord[];
  /** @throws ModelError 404. @param param the field that names it, for the error */
  get(id: string, param?: string): FileRecord;
  /** Path of the bytes. */
  pathOf(id: string): string;
  /** @param id the same again replaces the file. @default a random one */
  create(
    bytes: Uint8Array,
    about: Pick<FileRecord, 'filename' | 'purpose'>,
    id?: string,
  ): Promise<FileRecord>;
  delete(id: string): Promise<void>;
}

export async function openFileStore(directory: string, now: () => number): Promise<FileStore> {
  await mkdir(directory, { recursive: true });
  const names = (await readdir(directory)).filter((name) => name.endsWith('.json'));
  const read = async (name: string): Promise<FileRecord> =>
    JSON.parse(await readFile(path.join(directory, name), 'utf8')) as FileRecord;
  const found = await Promise.all(names.map(read));
  const records = new Map(
    found.toSorted((a, b) => (a.id < b.id ? -1 : 1)).map((record) => [record.id, record]),
  );
  const get = (id: string, param?: string): FileRecord => {
    const record = records.get(id);
    if (record) return record;
    throw noSuchFile(id, param);
  };
  const pathOf = (id: string): string => path.join(directory, `${get(id).id}.jsonl`);
  return {
    list: () => [...records.values()].reverse(),
    get,
    pathOf,
    create: async (bytes, about, id = newId('file')) => {
      await writeFile(path.join(directory, `${id}.jsonl`), bytes, { flush: true });
      const record: FileRecord = {
        id,
        object: 'file',
        bytes: bytes.byteLength,
        created_at: now(),
        ...about,
        status: 'processed',
      };
      // The record last: without it there is no file.
      await saveJson(path.join(directory, `${id}.json`), record);
      records.set(id, record);
      return record;
    },
    delete: async (id) => {
      const bytes = pathOf(id);
      records.delete(id);
      await rm(path.join(directory, `${id}.json`), { force: true });
      await rm(bytes, { force: true });
    },
  };
}
