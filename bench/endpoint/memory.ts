/**
 * Memory of open rollouts, each of which has made one call and keeps its record. Prints a line of JSON;
 * needs `--expose-gc`.
 */
import { createRuntime } from '../../packages/core/src/index.ts';
import { openEndpointServer } from '../../packages/model/src/index.ts';
import { opening, tools } from './conversation.ts';
import { rolloutMaker } from './rollouts.ts';

const count = Number(process.argv[2]);
const server = await openEndpointServer({ runtime: createRuntime() });
const make = rolloutMaker(server);
const call = async ({ model }: ReturnType<typeof make>): Promise<void> => {
  await model
    .openaiClient()
    .chat.completions.create({ model: 'bench', messages: opening as never, tools: tools as never });
};
await call(make());
gc!();
const before = process.memoryUsage();
const begun = performance.now();
const rollouts = Array.from({ length: count }, () => make());
const mountUs = ((performance.now() - begun) * 1000) / count;
for (const rollout of rollouts) await call(rollout);
gc!();
const after = process.memoryUsage();
process.stdout.write(
  JSON.stringify({
    rollouts: rollouts.length,
    processMb: Math.round(after.rss / 2 ** 20),
    heapKbEach: Math.round(
      (after.heapUsed + after.external - before.heapUsed - before.external) / 1024 / count,
    ),
    mountUs: Math.round(mountUs),
  }),
);
for (const rollout of rollouts) rollout.close();
await server.close();
