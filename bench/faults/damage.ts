/** Faults of the files of a run, by kind of file. */
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { DatabaseSync } from 'node:sqlite';

export interface Fault {
  /** Kind of the file, for the table. */
  readonly kind: string;
  /** Description of the fault. */
  readonly what: string;
  /**
   * True if the file is only a record for users: the fault may be visible in this file, but nowhere
   * else.
   */
  readonly recordOnly: boolean;
  /** Applies the fault to the files of the run in `job`. */
  readonly apply: (job: string) => void;
}

interface FileKind {
  readonly kind: string;
  /** Path in the run's folder. */
  readonly file: string;
  readonly recordOnly?: boolean;
  /** Number of flipped bits, one per case, spread over the file. @default 3 */
  readonly flips?: number;
}

const checkpoint = 'global_step_4';
const database = 'buffer/experience_buffer.db';

const kinds: readonly FileKind[] = [
  { kind: 'experience database', file: database, flips: 24 },
  { kind: 'write-ahead log of the database', file: `${database}-wal`, flips: 8 },
  { kind: 'index of the write-ahead log', file: `${database}-shm`, flips: 2 },
  { kind: 'checkpoint manifest', file: `${checkpoint}/manifest.json`, flips: 12 },
  { kind: 'weights', file: `${checkpoint}/model.safetensors`, flips: 4 },
  { kind: 'configuration of the model', file: `${checkpoint}/config.json` },
  { kind: 'settings of the run', file: 'settings.json', flips: 6 },
  { kind: 'stages done', file: 'stage_meta.json', flips: 4 },
  { kind: 'name of the newest checkpoint', file: 'latest_checkpointed_iteration.txt', flips: 1 },
  { kind: 'metrics', file: 'monitor/metrics.jsonl', recordOnly: true },
  { kind: 'preview of rollouts', file: 'monitor/rollouts.jsonl', recordOnly: true },
  { kind: 'preview of samples', file: 'monitor/samples.jsonl', recordOnly: true },
  { kind: 'log', file: 'log/trinity.log', recordOnly: true, flips: 1 },
  { kind: 'lock', file: 'run.lock', flips: 1 },
  { kind: 'lock of the database', file: `${database}.lock`, flips: 1 },
  { kind: 'process id', file: 'run.pid', flips: 1 },
];

/** Faults of the files in `job`. Optimizer files are found by listing the folder. */
export function faultsOf(job: string): readonly Fault[] {
  const optimizer = readdirSync(path.join(job, checkpoint), { recursive: true })
    .map(String)
    .filter((name) => /optim/.test(name) && statSync(path.join(job, checkpoint, name)).isFile())
    .map((name) => ({ kind: 'optimizer state', file: path.join(checkpoint, name) }));
  const present = [...kinds, ...optimizer].filter(({ file }) =>
    statSync(path.join(job, file), { throwIfNoEntry: false }),
  );
  return [...present.flatMap((kind) => faultsOfFile(job, kind)), ...edits];
}

function faultsOfFile(
  job: string,
  { kind, file, recordOnly = false, flips = 3 }: FileKind,
): readonly Fault[] {
  const { size } = statSync(path.join(job, file));
  const fault = (what: string, apply: (file: string) => void): Fault => ({
    kind,
    what,
    recordOnly,
    apply: (folder) => apply(path.join(folder, file)),
  });
  const places =
    size === 0
      ? []
      : Array.from({ length: flips }, (_, i) => Math.floor((size * (i + 0.5)) / flips));
  return [
    ...places.map((byte, i) =>
      fault(`bit ${i % 8} of byte ${byte} of ${size}`, (full) => flip(full, byte, i % 8)),
    ),
    fault('half is gone', (full) => truncateSync(full, Math.floor(size / 2))),
    fault('the last byte is gone', (full) => truncateSync(full, Math.max(0, size - 1))),
    fault('removed', (full) => rmSync(full)),
  ];
}

/**
 * Yields changes of files outside of the run's folder that the run reads again when it resumes. Each change is undone
 * after its use.
 */
export async function* dataFaults(root: string, count: number): AsyncGenerator<Fault> {
  const files = [
    'tasks.jsonl',
    ...readdirSync(path.join(root, 'model')).map((name) => `model/${name}`),
  ];
  for (const name of files.filter((file) => /\.(?:jsonl?|jinja)$/.test(file))) {
    const file = path.join(root, name);
    const before = readFileSync(file);
    const changes = Array.from({ length: count }, (_, i) => {
      const byte = Math.floor((before.length * (i + 0.5)) / count);
      return [`bit ${i % 8} of byte ${byte}`, () => flip(file, byte, i % 8)] as const;
    });
    for (const [what, change] of [
      ...changes,
      ['halves swapped', () => swapHalves(file)] as const,
    ]) {
      change();
      yield {
        kind: 'file read again',
        what: `${what} of ${name}`,
        recordOnly: false,
        apply: () => undefined,
      };
      writeFileSync(file, before);
    }
  }
}

/** Swaps the halves of a file, by lines, or by characters if it has only one line. */
function swapHalves(file: string): void {
  const text = readFileSync(file, 'utf8');
  const lines = text.split(/(?<=\n)/);
  const parts = lines.length > 1 ? lines : [...text];
  const half = Math.floor(parts.length / 2);
  writeFileSync(file, [...parts.slice(half), ...parts.slice(0, half)].join(''));
}

export function flip(file: string, byte: number, bit: number): void {
  const bytes = readFileSync(file);
  bytes[byte] = (bytes[byte] ?? 0) ^ (1 << bit);
  writeFileSync(file, bytes);
}

/** Changes after which a file is still well-formed. */
const edits: readonly Fault[] = [
  ...Object.entries({
    'an experience is deleted':
      'PRAGMA foreign_keys = OFF; DELETE FROM experience WHERE id = (SELECT max(id) FROM experience)',
    'a policy version is changed': 'UPDATE experience SET policy_version = 1 WHERE id = 70',
    'a used record is deleted': 'DELETE FROM used WHERE id = 3',
    'a used record moves to another step': 'UPDATE used SET train_step = 1 WHERE id = 40',
    'the explorer is one step further': `UPDATE state SET json = replace(json, '"step":5', '"step":6') WHERE name = 'explorer'`,
    'a byte of an experience':
      "UPDATE experience SET bytes = CAST(substr(bytes, 1, 60) || x'01' || substr(bytes, 62) AS BLOB) WHERE id = 70",
  }).map(([what, sql]) =>
    edit('experience database', what, (job) => runSql(path.join(job, database), sql)),
  ),
  ...Object.entries<(manifest: Record<string, unknown>) => void>({
    '"step": 4 is 3': (manifest) => (manifest['step'] = 3),
    '"files": []': (manifest) => (manifest['files'] = []),
    '"final": true': (manifest) => (manifest['final'] = true),
    'without the weights': (manifest) => {
      const files = manifest['files'] as { readonly path: string }[];
      manifest['files'] = files.filter((file) => !file.path.endsWith('.safetensors'));
    },
  }).map(([what, change]) =>
    edit('checkpoint manifest', what, (job) =>
      editJson(path.join(job, checkpoint, 'manifest.json'), change),
    ),
  ),
  edit('stages done', 'says that all is done', (job) =>
    writeFileSync(path.join(job, 'stage_meta.json'), '{"latest_stage":1}'),
  ),
  edit('process id', 'names a process that runs', (job) =>
    writeFileSync(path.join(job, 'run.pid'), `${process.pid}\n`),
  ),
];

function edit(kind: string, what: string, apply: (job: string) => void): Fault {
  return { kind, what, recordOnly: false, apply };
}

/** Moves the content of the write-ahead log into the database file. */
export function mergeLog(job: string): void {
  runSql(path.join(job, database), 'PRAGMA wal_checkpoint(TRUNCATE)');
}

function runSql(file: string, sql: string): void {
  const store = new DatabaseSync(file);
  store.exec(sql);
  store.close();
}

function editJson(file: string, change: (value: Record<string, unknown>) => void): void {
  const value = JSON.parse(readFileSync(file, 'utf8')) as Record<string, unknown>;
  change(value);
  writeFileSync(file, JSON.stringify(value, null, 2));
}
