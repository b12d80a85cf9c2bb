import { expect, it } from 'vitest';
import { resolveHyperparameters } from './settings.js';

it.each([
  ['supervised', 1, { n_epochs: 'auto', batch_size: 'auto' }, { n_epochs: 3, batch_size: 1 }],
  ['supervised', 5000, { n_epochs: 'auto', batch_size: 'auto' }, { n_epochs: 3, batch_size: 64 }],
  ['supervised', 40, { n_epochs: 2, batch_size: 4096 }, { n_epochs: 2, batch_size: 40 }],
  ['dpo', 100, { batch_size: 'auto', beta: 'auto' }, { batch_size: 4, beta: 0.1 }],
  ['reinforcement', 10, { n_epochs: 'auto', batch_size: 'auto' }, { n_epochs: 5, batch_size: 1 }],
] as const)('%s with %i rows: %o is %o', (method, rows, given, expected) => {
  expect(resolveHyperparameters(given, method, rows)).toEqual(expected);
});
