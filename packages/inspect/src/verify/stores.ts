/** Finds and reads the experience stores of a stage. */
import { readdir } from 'node:fs/promises';
import path from 'node:path';
import { readExperiences, type ExperienceReader } from '@trinity-rft/buffer';

/** Experience stores in the folder of a stage, ordered by name. */
export async function databasesIn(directory: string): Promise<readonly string[]> {
  const buffers = path.join(directory, 'buffer');
  const names = await readdir(buffers).catch(() => []);
  return names
    .filter((name) => name.endsWith('.db'))
    .toSorted()
    .map((name) => path.join(buffers, name));
}

/** Reads an experience store, and closes it. */
export function withReader<T>(database: string, read: (reader: ExperienceReader) => T): T {
  const reader = readExperiences(database);
  try {
    return read(reader);
  } finally {
    reader.close();
  }
}
