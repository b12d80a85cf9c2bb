/**
 * `pnpm bench simulate [--seeds N] [--from SEED]`: simulates explorers, trainer and store with faults,
 * for N seeds. `--seed SEED` prints the events of one seed. `--bugs [N]` prints, for each deliberate
 * error, the number of seeds after which it is detected, up to N.
 */
import { parseArgs } from 'node:util';
import { knownBugs } from '../tests/simulation/bugs.ts';
import { simulate, type Bug, type Outcome } from '../tests/simulation/simulate.ts';

const { values } = parseArgs({
  options: {
    seeds: { type: 'string', default: '1000' },
    from: { type: 'string', default: '1' },
    seed: { type: 'string' },
    bugs: { type: 'boolean', default: false },
  },
});

const say = (text: string): void => void process.stdout.write(`${text}\n`);

const kindOf = ({ scenario }: Outcome): string =>
  `${scenario.style}, ${scenario.explorers} explorers, ${scenario.faults.length} faults`;

async function playOne(seed: number): Promise<void> {
  const onEvent = (what: string, at: number): void => say(`${(at / 1000).toFixed(4)} ${what}`);
  const outcome = await simulate(seed, { onEvent });
  say(JSON.stringify(outcome.scenario, undefined, 1));
  for (const violation of outcome.violations) say(violation);
}

async function playMany(from: number, count: number): Promise<void> {
  let events = 0;
  let wrong = 0;
  const start = process.cpuUsage();
  for (let seed = from; seed < from + count; seed++) {
    const outcome = await simulate(seed);
    events += outcome.events;
    if (outcome.violations.length === 0) continue;
    wrong += 1;
    say(`seed ${seed} (${kindOf(outcome)}): ${outcome.violations[0]}`);
  }
  const { user, system } = process.cpuUsage(start);
  const seconds = (user + system) / 1e6;
  say(`${count} seeds, ${events} events, ${seconds.toFixed(1)} s of CPU: ${wrong} wrong`);
  process.exitCode = wrong === 0 ? 0 : 1;
}

/** First seed that detects the error, with the message. */
async function firstSeed(bug: Bug, most: number): Promise<string> {
  for (let seed = 1; seed <= most; seed++) {
    const { violations } = await simulate(seed, { bug });
    if (violations.length > 0) return `seed ${seed}: ${violations[0]}`;
  }
  return `not within ${most} seeds`;
}

if (values.seed !== undefined) await playOne(Number(values.seed));
else if (values.bugs)
  for (const bug of knownBugs)
    say(`${bug.name} (${bug.knownFrom}): ${await firstSeed(bug, Number(values.seeds))}`);
else await playMany(Number(values.from), Number(values.seeds));
