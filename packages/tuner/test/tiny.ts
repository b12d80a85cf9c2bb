/** A tiny model and rows, for real runs of a second or two. */
import { mkdirSync, mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createModel } from '@trinity-rft/launcher';

/**
 * A folder with `model/` and `my_dataset/{train,test}.jsonl`, and a terminal that keeps what is written
 * to it.
 */
export async function tinyWorld() {
  const cwd = mkdtempSync(path.join(tmpdir(), 'trinity-tuner-'));
  await tinyModel(path.join(cwd, 'model'), 1);
  mkdirSync(path.join(cwd, 'my_dataset'));
  const rows = (from: number) =>
    Array.from({ length: 4 }, (_, i) =>
      JSON.stringify({ question: `${from + i}+1`, answer: String(from + i + 1) }),
    );
  writeFileSync(path.join(cwd, 'my_dataset', 'train.jsonl'), rows(0).join('\n'));
  writeFileSync(path.join(cwd, 'my_dataset', 'test.jsonl'), rows(4).join('\n'));
  const printed: string[] = [];
  return {
    cwd,
    printed,
    terminal: { write: (text: string) => void printed.push(text), isTTY: false, columns: () => 80 },
  };
}

export function tinyModel(directory: string, seed: number): Promise<void> {
  return createModel({
    directory,
    tokenizer: { characters: '0123456789+\nxyz' },
    config: { hiddenSize: 16, layers: 1, heads: 2, kvHeads: 1, headDim: 8, maxPositions: 64 },
    seed,
  });
}
