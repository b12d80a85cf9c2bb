import { expect, it } from 'vitest';
import { z } from 'zod';
import { z as z3 } from 'zod/v3';
import { describeArgs } from './describe-args.js';

it('describes the arguments of a zod schema, and none of a schema of zod 3', () => {
  expect(describeArgs(z.object({ level: z.int().min(1).default(2) }))).toEqual([
    { name: 'level', text: 'integer from 1, default 2' },
  ]);
  expect(describeArgs(z3.object({ level: z3.number() }))).toBeUndefined();
});
