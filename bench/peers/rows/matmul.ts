/** Share of a train step that the matrix products alone would take: `pnpm bench engine training`. */
import { ourScript } from '../programs.ts';
import type { Row } from '../row.ts';

export const matmulRow: Row = {
  name: 'matmul',
  job: 'forward and backward 16 × 128, 10M, beside the fastest matrix product',
  prepare: () =>
    Promise.resolve({
      ours: {
        name: 'trinity',
        command: () => ourScript('../../engine/training.ts'),
        read: (printed) => {
          const row = JSON.parse(printed) as Readonly<Record<string, number>>;
          const [ms, share, best] = [
            row['forward+backward ms'],
            row['share of peak %'],
            row['best share %'],
          ];
          const parts = { '% of the peak': share ?? NaN, 'best %': best ?? NaN };
          return Promise.resolve({ seconds: (ms ?? NaN) / 1000, parts });
        },
      },
      peers: [],
    }),
};
