/**
 * Reads and writes `settings.json`, the settings that the stages of a training run were last
 * started with.
 */
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { describeError, CheckpointError } from '@trinity-rft/core';
import { replaceFileSync } from '@trinity-rft/core/support';
import type { Settings } from '../../assembly/settings.js';
import type { Inputs } from './inputs.js';

const fileName = 'settings.json';

export interface SettingsRecord {
  readonly jobDirectory: string;
  /** Settings by stage, for the stages that have begun. */
  readonly stages: readonly Settings[];
  /** Inputs by stage; undefined if an earlier version wrote the file. */
  readonly inputs?: readonly Inputs[];
}

/**
 * Reads the record. Returns undefined if there is none.
 * @throws CheckpointError when the file was changed or is damaged
 */
export function readRecord(jobDirectory: string): SettingsRecord | undefined {
  const file = path.join(jobDirectory, fileName);
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (cause) {
    const { code } = cause as NodeJS.ErrnoException;
    // ENOTDIR: a parent of the folder is a file. The failure of mkdir reports this later.
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw damaged(file, `cannot be read: ${describeError(cause)}`, cause);
  }
  const { sha256, ...record } = parse(file, text);
  if (sha256 !== digestOf(record)) throw damaged(file, 'has been changed since it was written');
  return record;
}

/**
 * Reads the record of a training run. Returns undefined if there is none, or only the record of a
 * benchmark, in whose folder a training run may begin.
 * @throws CheckpointError when the file was changed or is damaged
 */
export function trainingRecord(jobDirectory: string): SettingsRecord | undefined {
  const record = readRecord(jobDirectory);
  return record?.stages.every((stage) => stage['mode'] === 'bench') ? undefined : record;
}

/**
 * Writes the record with its digest.
 * @throws CheckpointError when the file cannot be written
 */
export function writeRecord(record: SettingsRecord): void {
  const file = path.join(record.jobDirectory, fileName);
  const text = JSON.stringify({ ...record, sha256: digestOf(record) }, null, 2);
  try {
    replaceFileSync(file, `${text}\n`);
  } catch (cause) {
    throw new CheckpointError(
      `${file} could not be written: ${describeError(cause)}. Check that the folder is writable and the disk has room.`,
      { code: 'SETTINGS_WRITE', cause },
    );
  }
}

type Stored = SettingsRecord & { readonly sha256: string };

function parse(file: string, text: string): Stored {
  try {
    const stored = JSON.parse(text) as Partial<Stored> | null;
    if (stored !== null && Array.isArray(stored.stages)) return stored as Stored;
  } catch (cause) {
    throw damaged(file, 'is not JSON', cause);
  }
  throw damaged(file, 'is not a record of settings');
}

const digestOf = ({ jobDirectory, stages, inputs }: SettingsRecord): string =>
  hash('sha256', JSON.stringify([jobDirectory, stages, ...(inputs ? [inputs] : [])]), 'hex');

function damaged(file: string, what: string, cause?: unknown): CheckpointError {
  return new CheckpointError(
    `${file} ${what}. Delete it to resume without a look at what has changed in the configuration.`,
    { code: 'SETTINGS_DAMAGED', cause },
  );
}
