/** Custom monitor: a CSV file with a line for each metric of each step. */
import { appendFileSync, mkdirSync } from 'node:fs';
import path from 'node:path';
import type { Monitor } from '@trinity-rft/core';

export const csvMonitor: Monitor = {
  open: ({ directory }) => {
    mkdirSync(directory, { recursive: true });
    const file = path.join(directory, 'metrics.csv');
    return {
      write: ({ role, step, metrics }) => {
        const lines = Object.entries(metrics).map(([name, value]) => [role, step, name, value]);
        appendFileSync(file, lines.map((line) => `${line.join()}\n`).join(''));
      },
      close: async () => undefined,
    };
  },
};
