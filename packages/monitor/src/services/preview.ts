/** Reads the latest rollouts from a preview file (`rollouts.jsonl`), as a table for a service. */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { redactText } from '@trinity-rft/core/support';
import type { PreviewTable } from './service.js';

const columns = ['step', 'reward', 'prompt', 'response'] as const;
const mostRows = 50;
const mostCharacters = 4000;
/** Maximum size of a preview file, in bytes. Larger files are ignored. */
const mostBytes = 32 * 2 ** 20;

/**
 * Creates a function that reads the table. The function returns undefined if there are no rollouts,
 * or none that are newer than those of the last call.
 */
export function previewReader(file: string): () => PreviewTable | undefined {
  let seen = 0;
  return () => {
    if (!existsSync(file)) return undefined;
    const { size } = statSync(file);
    if (size === seen || size > mostBytes) return undefined;
    const lines = readFileSync(file, 'utf8')
      .split('\n')
      .slice(-mostRows - 1);
    seen = size;
    const rows = lines.flatMap((line) => rowOf(line));
    return rows.length === 0 ? undefined : { columns, rows };
  };
}

function rowOf(line: string): readonly (readonly (string | number | null)[])[] {
  try {
    const row = JSON.parse(line) as Readonly<Record<string, unknown>>;
    const number = (value: unknown): number | null => (typeof value === 'number' ? value : null);
    const text = (value: unknown): string =>
      redactText(typeof value === 'string' ? value : '').slice(0, mostCharacters);
    return [
      [
        number(row['step']),
        number(row['reward']),
        text(row['prompt_text']),
        text(row['response_text']),
      ],
    ];
  } catch {
    return [];
  }
}
