/**
 * `pnpm bench endpoint [PER_SECOND] [SECONDS]`: cost of the recording endpoint compared with a bare
 * hono server that answers with the same bytes. The same load is sent to both in turns, each in its own
 * process; the sampler answers immediately. Every call is in the store of `trinity serve`, where it
 * survives SIGKILL, before its client gets the answer. `short-pauses` is the endpoint with the Node
 * flags that apps/runner/README.md names.
 */
import { fork, spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { createRuntime } from '../packages/core/src/index.ts';
import { openEndpointServer } from '../packages/model/src/index.ts';
import { opening, tools } from './endpoint/conversation.ts';
import {
  createPool,
  load,
  newConversation,
  sendLargePrompts,
  type LoadResult,
} from './endpoint/load.ts';
import { rolloutMaker } from './endpoint/rollouts.ts';
import type { FromTarget, Place, ToTarget } from './endpoint/target.ts';

const perSecond = Number(process.argv[2] ?? 1000);
const seconds = Number(process.argv[3] ?? 5);
const rounds = 3;
/** Warm-up time, in seconds, until the code is compiled. */
const warmUpSeconds = 4;
const shortPauses = ['--max-semi-space-size=4', '--v8-pool-size=1'];
const placesOpen = 256;
const openRollouts = 2000;

interface Measured extends LoadResult {
  readonly cpuMsPerTurn: number;
  readonly records: number;
}

const bytes = await sampleAnswer();
const kinds = ['bare', 'recording', 'short-pauses', 'large-prompts'] as const;
const results: Record<(typeof kinds)[number], Measured[]> = {
  bare: [],
  recording: [],
  'short-pauses': [],
  'large-prompts': [],
};
for (let round = 0; round < rounds; round++) {
  results.bare.push(await measure('bare'));
  results.recording.push(await measure('recording'));
  results['short-pauses'].push(await measure('recording', { flags: shortPauses }));
  results['large-prompts'].push(await measure('recording', { flags: shortPauses, large: true }));
}
report();

/** Measures one target under load. */
async function measure(
  kind: 'bare' | 'recording',
  {
    flags = [],
    large = false,
  }: { readonly flags?: readonly string[]; readonly large?: boolean } = {},
): Promise<Measured> {
  const execArgv = [...process.execArgv, ...flags];
  const child = fork(
    fileURLToPath(new URL('./endpoint/target.ts', import.meta.url)),
    [kind, String(placesOpen), bytes],
    { execArgv },
  );
  const tell = (message: ToTarget): void => void child.send(message);
  const pool = createPool();
  const usage = new Promise<{ readonly cpuMs: number; readonly records: number }>(
    (resolve, reject) => {
      child.on('message', (message: FromTarget) => {
        if (message.kind === 'usage') resolve(message);
        else pool.put(newConversation(message.place));
      });
      child.on('exit', (code) => reject(new RangeError(`The ${kind} target ended with ${code}.`)));
    },
  );
  usage.catch(() => undefined);
  const ended = ({ id }: Place): void => tell({ kind: 'ended', id });
  await Promise.race([load({ perSecond, seconds: warmUpSeconds, pool, ended }), usage]);
  tell({ kind: 'begin' });
  let over = false;
  const others = large && sendLargePrompts((await pool.take()).place, () => over);
  const result = await load({ perSecond, seconds, pool, ended });
  over = true;
  await others;
  tell({ kind: 'stop' });
  const { cpuMs, records } = await usage;
  return { ...result, cpuMsPerTurn: cpuMs / result.latencies.length, records };
}

/** Bytes of the first answer of a conversation. */
async function sampleAnswer(): Promise<string> {
  const server = await openEndpointServer({ runtime: createRuntime() });
  const rollout = rolloutMaker(server)();
  const { baseURL, apiKey } = rollout;
  const headers = { authorization: `Bearer ${apiKey}` };
  const response = await fetch(`${baseURL}/chat/completions`, {
    method: 'POST',
    headers,
    body: JSON.stringify({ messages: opening, tools }),
  });
  const text = await response.text();
  rollout.close();
  await server.close();
  return text;
}

function report(): void {
  const rows = kinds.map((kind) => ({
    bench: 'endpoint',
    server: kind,
    p50Ms: round(best(results[kind], ({ latencies }) => quantile(latencies, 0.5))),
    p99Ms: round(best(results[kind], ({ latencies }) => quantile(latencies, 0.99))),
    cpuMsPerTurn: round(best(results[kind], ({ cpuMsPerTurn }) => cpuMsPerTurn)),
    perSecond: Math.round(Math.max(...results[kind].map((result) => result.perSecond))),
    failed: results[kind].reduce((sum, { failed }) => sum + failed, 0),
    records: results[kind].reduce((sum, { records }) => sum + records, 0),
  }));
  const [bare, ...others] = rows as [(typeof rows)[0], ...typeof rows];
  const added = others.map((row) => ({
    bench: 'endpoint-added',
    server: row.server,
    p50Ms: round(row.p50Ms - bare.p50Ms),
    p99Ms: round(row.p99Ms - bare.p99Ms),
    cpuMsPerTurn: round(row.cpuMsPerTurn - bare.cpuMsPerTurn),
    p50Ratio: round(row.p50Ms / bare.p50Ms),
    p99Ratio: round(row.p99Ms / bare.p99Ms),
  }));
  for (const row of [...rows, ...added, { bench: 'endpoint-memory', ...memory() }])
    process.stdout.write(`${JSON.stringify(row)}\n`);
}

function memory(): Record<string, unknown> {
  const script = fileURLToPath(new URL('./endpoint/memory.ts', import.meta.url));
  const { stdout } = spawnSync(
    process.execPath,
    [...process.execArgv, '--expose-gc', script, String(openRollouts)],
    {
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    },
  );
  return JSON.parse(stdout) as Record<string, unknown>;
}

/** Best value over the rounds, because other work on the machine only adds time. */
function best(measured: readonly Measured[], value: (result: Measured) => number): number {
  return Math.min(...measured.map(value));
}

function quantile(ascending: readonly number[], share: number): number {
  return ascending[Math.min(ascending.length - 1, Math.floor(ascending.length * share))]!;
}

function round(value: number): number {
  return Number(value.toFixed(2));
}
