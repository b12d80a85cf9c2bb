import { expect, it } from 'vitest';
import { tryJson } from './try-json.js';

it('reads JSON, and gives undefined for everything else', () => {
  expect(['{"a":1}', 'null', '0', '{"a":', '', undefined].map(tryJson)).toEqual([
    { a: 1 },
    null,
    0,
    undefined,
    undefined,
    undefined,
  ]);
});
