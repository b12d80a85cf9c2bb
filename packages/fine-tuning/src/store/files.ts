/** Stores files, each as its contents and a record. */
import { mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { noSuchFile } from '../wire/refuse.js';
import { newId, readJson, saveJson } from './save-json.js';

/** Metadata of a file, as OpenAI's files API returns it. */
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
  /** Returns all files, newest first. */
  list(): readonly FileRecord[];
  /**
   * Returns the record of a file.
   * @param param request field that contained the id, for the error
   * @throws ModelError 404 if there is no such file
   */
  get(id: string, param?: string): FileRecord;
  /**
   * Returns the path of the file's contents.
   * @throws ModelError 404 if there is no such file
   */
  pathOf(id: string): string;
  /**
   * Stores a file and returns its record.
   * @param id id of the file; an existing file with this id is replaced.
   * @default a random id
   */
  create(
    bytes: Uint8Array,
    about: Pick<FileRecord, 'filename' | 'purpose'>,
    id?: string,
  ): Promise<FileRecord>;
  delete(id: string): Promise<void>;
}

/**
 * Opens the store in `directory`, which is created if it is missing.
 * @throws ConfigError naming an unreadable record
 */
export async function openFileStore(directory: string, now: () => number): Promise<FileStore> {
  await mkdir(directory, { recursive: true });
  const names = await readdir(directory);
  const found = await Promise.all(
    names
      .filter((name) => name.endsWith('.json'))
      .map((name) => readJson<FileRecord>(path.join(directory, name))),
  );
  const records = new Map(
    found
      .filter((record) => record !== undefined)
      .toSorted((a, b) => (a.id < b.id ? -1 : 1))
      .map((record) => [record.id, record]),
  );
  // Removes bytes without a record, which a killed server left. No client has the id of such a
  // file.
  for (const name of names.filter((each) => /^file-\w+\.jsonl$/.test(each)))
    if (!records.has(path.parse(name).name)) await rm(path.join(directory, name));
  const get = (id: string, param?: string): FileRecord => {
    const record = records.get(id);
    if (record) return record;
    throw noSuchFile(id, param);
  };
  const placeOf = (id: string, ending: 'json' | 'jsonl'): string =>
    path.join(directory, `${id}.${ending}`);
  const pathOf = (id: string): string => placeOf(get(id).id, 'jsonl');
  return {
    list: () => [...records.values()].reverse(),
    get,
    pathOf,
    create: async (bytes, about, id = newId('file')) => {
      const record: FileRecord = {
        id,
        object: 'file',
        bytes: bytes.byteLength,
        created_at: now(),
        ...about,
        status: 'processed',
      };
      try {
        await writeFile(placeOf(id, 'jsonl'), bytes, { flush: true });
        // The record is written last, because a file exists only if it has a record.
        await saveJson(placeOf(id, 'json'), record);
      } catch (error) {
        // Removes a partly written file, which would take space on a full disk.
        if (!records.has(id)) await rm(placeOf(id, 'jsonl'), { force: true });
        throw error;
      }
      records.set(id, record);
      return record;
    },
    delete: async (id) => {
      records.delete(get(id).id);
      await rm(placeOf(id, 'json'), { force: true });
      await rm(placeOf(id, 'jsonl'), { force: true });
    },
  };
}
