/** `pnpm bench schemas [COUNT] [SEED]`: checks answers to random JSON Schemas with Ajv. */
import fc from 'fast-check';
import { documents } from './schemas/arbitrary.ts';
import { judge, type Judged } from './schemas/check.ts';
import { createRandom } from '../packages/core/src/index.ts';

const [count = '2000', seed = '1'] = process.argv.slice(2);
const random = createRandom(Number(seed));
const started = performance.now();
let slowest = { took: 0, schema: '' };
const results = fc
  .sample(documents, { numRuns: Number(count), seed: Number(seed) })
  .map((schema) => {
    const from = performance.now();
    const judged = judge(schema, random, 20);
    const took = performance.now() - from;
    if (took > slowest.took) slowest = { took, schema: JSON.stringify(schema) };
    for (const text of [...judged.wrong.slice(0, 1), ...judged.missing.slice(0, 1)])
      console.log(
        `${judged.wrong.includes(text) ? 'WRONG' : 'MISSING'} ${text}\n  ${JSON.stringify(schema)}`,
      );
    return judged;
  });

const sum = (part: (judged: Judged) => number): number =>
  results.reduce((all, each) => all + part(each), 0);
const refusals = new Map<string, number>();
for (const { refusal } of results) {
  if (refusal === undefined) continue;
  const keyword =
    /allows no value|refers to itself|too large/.exec(refusal)?.[0] ??
    /^\S*?\.?([$\w]+)(?:\[\d+\])? /.exec(refusal)?.[1] ??
    refusal;
  refusals.set(keyword, (refusals.get(keyword) ?? 0) + 1);
}
const enforced = results.filter(({ answers }) => answers > 0).length;
console.log(
  `${results.length} schemas: ${enforced} enforced, ${sum((each) => Number(each.refusal !== undefined))} refused, ${sum((each) => Number(each.isUnjudged ?? false))} not read by Ajv.`,
);
console.log(`${sum((each) => each.answers)} answers, ${sum((each) => each.wrong.length)} wrong.`);
console.log(
  `${sum((each) => each.tried)} changed answers that are valid, ${sum((each) => each.missing.length)} not allowed.`,
);
console.log('Refused by keyword:');
for (const [keyword, times] of [...refusals].toSorted((a, b) => b[1] - a[1]))
  console.log(`  ${keyword}: ${times}`);
console.log(
  `${((performance.now() - started) / 1000).toFixed(0)} s; the slowest took ${slowest.took.toFixed(0)} ms: ${slowest.schema.slice(0, 3000)}`,
);
if (sum((each) => each.wrong.length) > 0) process.exitCode = 1;
