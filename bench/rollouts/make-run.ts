// Creates a run folder with a given number of rollouts, like the folder of a run over several days.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { sqliteExperienceWriter } from '../../packages/buffer/src/index.ts';
import {
  buildCharTokenizer,
  chatTemplates,
  createTokenizer,
  writeTokenizerFiles,
} from '../../packages/chat/src/index.ts';
import { createExperience, type Experience } from '../../packages/core/src/index.ts';

const [tasksPerStep, attempts] = [64, 8];
const perStep = tasksPerStep * attempts;
/** Number of tasks in the task set. */
const tasks = 5000;

const files = buildCharTokenizer({
  characters: ' \n_abcdefghijklmnopqrstuvwxyz0123456789+=<>/()"\'&;:.,?!ABCDEFGHIJKLMNOPQRSTUVWXYZ',
  eosToken: '<|im_end|>',
  chatTemplate: chatTemplates.minimal,
});
const tokenizer = createTokenizer(files);

/** Pseudo-random number in [0, 1) that depends on the seed only. */
const noise = (seed: number): number => {
  const x = Math.sin(seed * 12.9898) * 43_758.5453;
  return x - Math.floor(x);
};

function rollout(i: number): Experience {
  const step = Math.floor(i / perStep);
  const place = Math.floor((i % perStep) / attempts);
  const row = Math.floor(noise(step * tasksPerStep + place) * tasks);
  const [a, b] = [row, (row * 7) % 1000];
  const isRight = noise(i + 0.5) < 0.2 + (0.6 * step) / (step + 300);
  const promptText = `Add the two numbers and explain. What is ${a} + ${b}?`;
  const responseText = `First ${a}, then ${b} more, which is ${isRight ? a + b : a + b + 1 + (i % 9)}.`;
  const [before, after] = [tokenizer.encode(promptText), tokenizer.encode(responseText)];
  return createExperience({
    eid: { batch: step + 1, task: place, run: i % attempts, step: 0, suffix: '0' },
    tokens: [...before, ...after],
    promptLength: before.length,
    logprobs: Array.from(after, (_, k) => -noise(i + k) / 2),
    policyVersion: step,
    temperature: 1,
    reward: isRight ? 1 : noise(i) < 0.3 ? 0.1 : 0,
    promptText,
    responseText,
    info: { finishReason: 'stop', taskset: 'sums', row },
  });
}

/** Creates the folder of a run with that many rollouts. */
export async function makeRun(folder: string, rollouts: number): Promise<void> {
  for (const name of ['buffer', 'monitor']) mkdirSync(join(folder, name), { recursive: true });
  await writeTokenizerFiles(join(folder, 'global_step_1'), files);
  const metrics = { role: 'explorer', step: 1, metrics: { 'rollout/reward/mean': 0.25 } };
  writeFileSync(join(folder, 'monitor', 'metrics.jsonl'), `${JSON.stringify(metrics)}\n`);
  const path = join(folder, 'buffer', 'experience_buffer.db');
  const writer = sqliteExperienceWriter({ path });
  const inOneTransaction = 20_000;
  for (let from = 0; from < rollouts; from += inOneTransaction) {
    const count = Math.min(inOneTransaction, rollouts - from);
    await writer.put(Array.from({ length: count }, (_, i) => rollout(from + i)));
  }
  await writer.close();
  const database = new DatabaseSync(path);
  database.exec(
    `INSERT INTO used (id, train_step, dropped, advantage)
     SELECT id, policy_version + 1, 0, (id % 17 - 8) / 8.0 FROM experience;
     PRAGMA wal_checkpoint(TRUNCATE);`,
  );
  database.close();
}
