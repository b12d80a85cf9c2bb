/** The rows of `pnpm bench peers`. To add one, write it in `rows/`. */
import type { Row } from './row.ts';
import { grpoRows, overlapRows } from './rows/grpo.ts';
import { loraGrpoRow } from './rows/lora-grpo.ts';
import { matmulRow } from './rows/matmul.ts';
import { samplingRows } from './rows/sampling.ts';
import { startRow } from './rows/start.ts';
import { trainStepRows } from './rows/train-step.ts';

export const rows: readonly Row[] = [
  ...grpoRows,
  loraGrpoRow,
  ...trainStepRows,
  ...samplingRows,
  matmulRow,
  ...overlapRows,
  startRow,
];
