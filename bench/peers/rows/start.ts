/** The quickstart on a machine that has only npm. */
import { ourScript } from '../programs.ts';
import type { Row } from '../row.ts';

export const startRow: Row = {
  name: 'start',
  job: 'npm install and npm start of the quickstart in an empty folder',
  note: 'seconds are without the download',
  repeats: 1,
  prepare: ({ folder }) =>
    Promise.resolve({
      ours: { name: 'trinity', command: () => ourScript('start.ts', folder) },
      peers: [],
    }),
};
