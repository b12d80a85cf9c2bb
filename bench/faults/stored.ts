/**
 * Faults of files that are opened without resuming a run: served calls, late rewards, a checkpoint as a
 * model.
 */
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { loadTokenizer } from '../../packages/chat/src/index.ts';
import { lateRewardsBeside } from '../../packages/buffer/src/late/late-rewards.ts';
import { createExperience, describeError, TrinityError } from '../../packages/core/src/index.ts';
import { encodeExperience } from '../../packages/core/src/store-seam.ts';
import { convertModel } from '../../packages/engine-onnx/src/index.ts';
import { openTurnDatabase } from '../../packages/serve/src/turns/sqlite.ts';
import { flip } from './damage.ts';
import type { Judgement } from './judge.ts';

/** A folder of files, and a function that reads them. */
interface Stored {
  readonly kind: string;
  readonly folder: string;
  /** Files to damage; their bytes count as one sequence. */
  readonly files: readonly string[];
  readonly read: (folder: string) => unknown;
}

const recorded = (i: number) =>
  createExperience({
    tokens: Array.from({ length: 40 }, (_, k) => 1 + ((i + k) % 90)),
    promptLength: 20,
    logprobs: Array.from({ length: 20 }, (_, k) => -1 / (k + 1)),
    policyVersion: 0,
    temperature: 1,
    eid: { batch: 1, task: `${Math.floor(i / 2)}`, run: i % 2, step: 0, suffix: '0' },
  });

function readCalls(folder: string): unknown {
  const calls = openTurnDatabase({ path: path.join(folder, 'calls.db') });
  try {
    const counts = calls.counts();
    return { counts, batch: calls.startBatch(1)?.calls, last: calls.lastStep() };
  } finally {
    calls.close();
  }
}

function servedCalls(root: string): readonly Stored[] {
  const [open, closed] = [path.join(root, 'calls-killed'), path.join(root, 'calls')];
  const database = openTurnDatabase({ path: path.join(closed, 'calls.db') });
  // Writes so few pages that SQLite does not checkpoint its log meanwhile.
  database.record(
    Array.from({ length: 60 }, (_, i) => ({
      msgId: `m${i}`,
      session: 's',
      experiences: [new Uint8Array(encodeExperience(recorded(i)))],
    })),
  );
  for (let i = 0; i < 50; i++) database.reward({ reward: i / 7, msgIds: [`m${i}`], runId: 0 });
  cpSync(closed, open, { recursive: true });
  database.close();
  const read = readCalls;
  return [
    { kind: 'served calls', folder: closed, files: ['calls.db', 'calls.db-commits'], read },
    { kind: 'log of served calls', folder: open, files: ['calls.db-wal'], read },
  ];
}

async function readLate(folder: string): Promise<unknown> {
  const file = path.join(folder, 'late_rewards.db');
  const late = lateRewardsBeside(file);
  try {
    return { due: late.due(0), waiting: late.waiting(), over: late.due(1e9) };
  } finally {
    await late.close();
  }
}

async function lateRewards(root: string): Promise<readonly Stored[]> {
  const [open, closed] = [path.join(root, 'late-killed'), path.join(root, 'late')];
  const file = path.join(closed, 'late_rewards.db');
  const late = lateRewardsBeside(file);
  const tasks = Array.from({ length: 30 }, (_, task) => `1/${task}`);
  late.add(
    tasks.map((task, i) => ({
      task,
      step: 1,
      runs: [0, 1].map((run) => ({
        run: `${task}/${run}`,
        reward: undefined,
        deadline: 1e6,
        experiences: [recorded(2 * i + run)],
      })),
    })),
  );
  late.commit(1, tasks);
  for (let i = 0; i < 50; i++) late.score(`1/${Math.floor(i / 2)}/${i % 2}`, i / 7);
  cpSync(closed, open, { recursive: true });
  await late.close();
  const read = readLate;
  return [
    { kind: 'late rewards', folder: closed, files: ['late_rewards.db'], read },
    { kind: 'log of late rewards', folder: open, files: ['late_rewards.db-wal'], read },
  ];
}

/**
 * Files of a checkpoint that is used as a model.
 * @param checkpoint checkpoint that is copied under another name
 */
function startModel(root: string, checkpoint: string): Stored {
  const folder = path.join(root, 'start');
  cpSync(checkpoint, folder, { recursive: true });
  const files = readdirSync(folder).filter((name) => /\.(json|safetensors|jinja)$/.test(name));
  const read = async (from: string): Promise<unknown> => {
    const to = path.join(root, 'converted');
    rmSync(to, { recursive: true, force: true });
    const { files: tokenizer } = await loadTokenizer(from);
    await convertModel({ from, to });
    const bytes = readdirSync(to).map((name) => [name, readFileSync(path.join(to, name))]);
    return { tokenizer, bytes };
  };
  return { kind: 'checkpoint as model_path', folder, files, read };
}

/** Stored files whose kind contains `wanted`. */
export async function storedFiles(
  root: string,
  checkpoint: string,
  wanted: string,
): Promise<readonly Stored[]> {
  const all = [...servedCalls(root), ...(await lateRewards(root)), startModel(root, checkpoint)];
  return all.filter(({ kind }) => kind.includes(wanted));
}

export interface StoredFault {
  readonly what: string;
  readonly judgement: Judgement;
}

/**
 * Flips `count` bits, one at a time, spread over the bytes of all files, with at least one in each
 * small file.
 */
export async function* flipBits(stored: Stored, count: number): AsyncGenerator<StoredFault> {
  const { folder, files, read } = stored;
  const copy = `${folder}-copy`;
  const renew = (): void => {
    rmSync(copy, { recursive: true, force: true });
    mkdirSync(copy, { recursive: true });
    cpSync(folder, copy, { recursive: true });
  };
  const total = files.reduce((sum, file) => sum + statSync(path.join(folder, file)).size, 0);
  renew();
  const expected = await read(copy);
  for (const file of files) {
    const { size } = statSync(path.join(folder, file));
    const flips = Math.max(5, Math.round((count * size) / total));
    for (let i = 0; i < flips; i++) {
      const byte = Math.floor((size * (i + 0.5)) / flips);
      renew();
      flip(path.join(copy, file), byte, i % 8);
      const judgement = await judgeReading(() => read(copy), expected);
      yield { what: `bit ${i % 8} of byte ${byte} of ${size} of ${file}`, judgement };
    }
  }
  rmSync(copy, { recursive: true, force: true });
}

async function judgeReading(read: () => unknown, expected: unknown): Promise<Judgement> {
  try {
    const isEqual = isDeepStrictEqual(await read(), expected);
    return { verdict: isEqual ? 'equal' : 'SILENTLY DIFFERENT', detail: '' };
  } catch (error) {
    const verdict = TrinityError.is(error) ? 'refused' : 'NO NAMED ERROR';
    return { verdict, detail: describeError(error) };
  }
}
