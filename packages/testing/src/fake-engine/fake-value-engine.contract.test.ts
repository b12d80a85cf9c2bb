import { describeValueEngine } from '../value-contract/describe-value-engine.js';
import { fakeValueEngine } from './fake-value-engine.js';

describeValueEngine('fakeValueEngine', {
  vocabSize: 12,
  open: () => Promise.resolve(fakeValueEngine({ vocabSize: 12, seed: 3 })),
});
