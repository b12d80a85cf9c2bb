/** Makes a new model with its tokenizer, worked examples, and problems to learn from. */
import { mkdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { createRuntime, type Random } from '@trinity-rft/core';
import { createModel } from '@trinity-rft/launcher';

const two = (value: number): string => String(value).padStart(2, '0');

/**
 * Problem such as `37+48=` with the answer `580`, least significant digit first, so that carries are computed along the
 * way.
 */
const addition = (
  a: number,
  b: number,
): { readonly question: string; readonly answer: string } => ({
  question: `${two(a)}+${two(b)}=`,
  answer: [...String(a + b).padStart(3, '0')].toReversed().join(''),
});

/** Replaces one digit by a random one. */
function slip(answer: string, random: Random): string {
  const digits = [...answer];
  digits[random.integer(digits.length)] = String(random.integer(10));
  return digits.join('');
}

/**
 * Writes `model/`, `worked.jsonl` and `tasks.jsonl` into `directory`. About two of three worked
 * answers have a random digit in one place.
 */
export async function prepare(directory: string, seed: number): Promise<void> {
  const runtime = createRuntime({ seed });
  await mkdir(directory, { recursive: true });
  await createModel({
    directory: path.join(directory, 'model'),
    tokenizer: { characters: '0123456789+=\n' },
    initializerRange: 0.2,
    seed: runtime.seedFor('model'),
  });
  const problems = runtime
    .random('problems')
    .shuffle(Array.from({ length: 10_000 }, (_, i) => addition(Math.floor(i / 100), i % 100)));
  const slips = runtime.random('slips');
  const worked = problems.map(({ question, answer }) => ({
    question,
    answer: slips.next() < 0.65 ? slip(answer, slips) : answer,
  }));
  await writeLines(path.join(directory, 'worked.jsonl'), worked);
  await writeLines(path.join(directory, 'tasks.jsonl'), problems);
}

const writeLines = (file: string, rows: readonly object[]): Promise<void> =>
  writeFile(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''));
