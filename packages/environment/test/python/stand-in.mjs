/** Stand-in for python/bridge.py that violates the protocol as the task's `fault` says. */
import { existsSync } from 'node:fs';
import { createInterface } from 'node:readline';

const faults = new Map();
const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
const results = {
  make: ({ config }) => ({ pid: config.pid ?? null }),
  reset: ({ episode, seed, task }) => {
    faults.set(episode, task.fault);
    return { observation: `seed ${seed} of process ${task.showPid ? process.pid : ''}`, info: {} };
  },
  step: ({ action }) => ({ observation: action, reward: 1, done: true, info: {} }),
  close: ({ episode }) => faults.delete(episode),
};

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  const fault = method === 'step' ? faults.get(params.episode) : undefined;
  if (fault === 'hang') return;
  if (fault?.until !== undefined) {
    const timer = setInterval(() => {
      if (!existsSync(fault.until)) return;
      clearInterval(timer);
      say({ id, result: results[method](params) });
    }, 20);
    return;
  }
  if (fault === 'die') {
    process.stderr.write('out of luck');
    process.exitCode = 3;
    process.stdin.destroy();
    return;
  }
  if (fault === 'garbage') return process.stdout.write('Loading...\n');
  if (fault === 'truncate') {
    process.stdout.write(`{"id":${id},"result":{"obser`);
    return process.stdin.destroy();
  }
  if (fault === 'raise') return say({ id, error: { type: 'KeyError', message: "'x'" } });
  if (fault === 'wrong id') return say({ id: id - 1, result: results.step(params) });
  if (fault === 'no verdict') return say({ id, result: { ...results.step(params), reward: null } });
  if (fault === 'limit')
    return say({
      id,
      result: { ...results.step(params), reward: null, info: { truncated: true } },
    });
  if (fault === 'no number') return say({ id, result: { ...results.step(params), reward: '1' } });
  say({ id, result: results[method](params) });
  if (fault === 'twice') say({ id, result: results[method](params) });
});
