// A small training run, which crash.test.ts kills. It puts and trains as fast as possible, and
// prints what the store has confirmed.
import { createExperience } from '@trinity-rft/core';
import { writeSync } from 'node:fs';
import { sqliteExperienceStore } from '../src/store/sqlite.js';
import { batchSize, putSize } from './crash-protocol.js';

const store = sqliteExperienceStore({ path: process.argv[2]! });
// Lines are written synchronously, so that a kill loses no line.
const say = (line: string): void => void writeSync(1, `${line}\n`);

const state = (await store.explorerState()) as { step: number } | undefined;
let exploreStep = state?.step ?? 0;
let trainStep = (await store.counts()).trained / batchSize;
say('open');
for (;;) {
  exploreStep++;
  const batch = Array.from({ length: putSize }, (_, task) =>
    createExperience({
      eid: { batch: exploreStep, task },
      tokens: new Int32Array(300),
      promptLength: 10,
      info: { n: (exploreStep - 1) * putSize + task },
    }),
  );
  await store.put(batch, { step: exploreStep });
  say(`put ${exploreStep}`);
  for (let i = 0; i < putSize / batchSize; i++) {
    const lease = await store.take(batchSize);
    await lease!.acknowledge(++trainStep);
    say(`trained ${trainStep}`);
  }
}
