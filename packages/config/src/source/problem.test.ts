import { expect, it } from 'vitest';
import { configError, problemsOf, reportProblem } from './problem.js';

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

it('shows the first problems of a file that is no configuration, and keeps all for programs', () => {
  const problems = Array.from({ length: 9207 }, (_, i) => ({
    ...{ file: 'tasks.jsonl', line: i + 1, column: 1 },
    ...{ key: '', message: 'remove the "---" line.' },
  }));
  const error = configError(problems);
  const lines = error.message.split('\n');
  expect(lines).toHaveLength(22);
  expect([lines.at(0), lines.at(1), lines.at(-1)]).toEqual([
    'tasks.jsonl has 9207 problems:',
    '  tasks.jsonl:1:1 remove the "---" line.',
    '  ... and 9187 more. Is the file a configuration?',
  ]);
  expect(problemsOf(error)).toHaveLength(9207);
});
