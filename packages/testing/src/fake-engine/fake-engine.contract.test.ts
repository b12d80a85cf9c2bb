import { describeEngine } from '../engine-contract/describe-engine.js';
import { fakeEngine } from './fake-engine.js';

describeEngine('fakeEngine', {
  vocabSize: 12,
  open: () => Promise.resolve(fakeEngine({ vocabSize: 12, scale: 1, seed: 3, maxModelLen: 128 })),
});
