import { expect, it } from 'vitest';
import { reportProblem } from './problem.js';

it.each([
  ['got "many", expected a number.', 'got "many".', 'Expected a number.'],
  ['unknown key "bach". Did you mean "batch"?', 'unknown key "bach".', 'Did you mean "batch"?'],
  [
    'is not set, but engine_type is external. Give the address of the API, which ends in /v1.',
    'is not set, but engine_type is external.',
    'Give the address of the API, which ends in /v1.',
  ],
  [
    'is read from another folder. It is used. Move it, or rename it.',
    'is read from another folder. It is used.',
    'Move it, or rename it.',
  ],
  ['ignored. Mode train samples nothing.', 'ignored. Mode train samples nothing.', ''],
])('splits "%s" into what is wrong and what to do', (message, wrong, fix) => {
  const place = { file: 'run.yaml', line: 3, column: 5 };
  const found = reportProblem({ ...place, key: 'buffer.batch_size', message });
  expect(found).toEqual({ ...place, path: 'buffer.batch_size', message: wrong, fix });
});
