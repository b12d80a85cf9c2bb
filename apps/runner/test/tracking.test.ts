/** Tests runs whose metrics go to a tracking service, with Trinity-RFT's settings. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { trackingKey, trackingServices, type TrackingServices } from '@trinity-rft/test-support';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { metricLines } from './support/run-record.js';
import { runHere } from './support/run-here.js';
import { createWorkspace, type Workspace } from './support/workspace.js';

let workspace: Workspace;
let services: TrackingServices;
beforeAll(async () => {
  workspace = await createWorkspace();
  services = await trackingServices();
});
afterAll(() => services.close());

const twoSteps = { buffer: { total_steps: 2 } };
const job = (name: string): string => path.join(workspace.root, 'runs', 'tests', name);

describe('a run with a tracking service', () => {
  it.each([
    [
      'wandb',
      'one',
      { monitor_type: 'wandb', monitor_args: { base_url: '$URL', api_key: trackingKey } },
    ],
    ['mlflow', 'one', { monitor_type: 'mlflow', monitor_args: { uri: '$URL' } }],
    ['swanlab', 'one', { monitor_type: 'swanlab', monitor_args: { api_host: '$URL' } }],
    [
      'wandb',
      'two',
      { monitor_type: 'wandb', shared_run: false, monitor_args: { base_url: '$URL' } },
    ],
  ])('of %s makes its steps, and %s runs of it are there', async (service, count, monitor) => {
    const name = `${service}-${count}`;
    const filled = JSON.parse(
      JSON.stringify(monitor).replace('$URL', services.url),
    ) as typeof monitor;
    const config = workspace.config(`${name}.yaml`, twoSteps, { name, monitor: filled });
    const before = services.requests.length;
    const env = { SWANLAB_API_KEY: trackingKey, WANDB_API_KEY: trackingKey };
    const { error, output } = await runHere(workspace, config, { env });
    expect(error).toBeUndefined();
    const sent = services.requests.slice(before).map(({ body }) => body);
    expect(sent.join('\n')).toContain('rollout/reward/mean');
    expect(sent.join('\n')).toContain(count === 'two' ? `${name}_trainer` : `"${name}"`);
    const log = readFileSync(path.join(job(name), 'log', 'trinity.log'), 'utf8');
    expect(log).toContain(`${services.url}/`);
    for (const text of [output, log, ...sent]) expect(text).not.toContain(trackingKey);
    const kept = readFileSync(path.join(job(name), 'monitor', 'metrics.jsonl'), 'utf8');
    expect(kept).not.toContain(trackingKey);
    expect(metricLines(job(name)).length).toBeGreaterThan(0);
  });

  it('ends with the key that is wrong, before anything starts', async () => {
    const monitor = { monitor_type: 'wandb', monitor_args: { base_url: services.url } };
    const config = workspace.config('refused.yaml', twoSteps, { name: 'refused', monitor });
    const { error } = await runHere(workspace, config, {
      env: { WANDB_API_KEY: 'a-wrong-key-of-the-tests' },
    });
    expect(error?.message).toMatch(/answered 401.*WANDB_API_KEY/);
    expect(error?.message).not.toContain('a-wrong-key');
    expect(metricLines(job('refused'))).toEqual([]);
  });

  it('trains as ever when the service is down all the time, and says once what was not sent', async () => {
    services.fail({ status: 500 });
    const monitor = { monitor_type: 'mlflow', monitor_args: { uri: services.url } };
    const config = workspace.config('down.yaml', twoSteps, { name: 'down', monitor });
    const { summary, output } = await runHere(workspace, config);
    services.heal();
    expect(summary?.trainStep).toBe(2);
    expect(output).toMatch(/The run starts; its records are kept/);
    expect(output).toMatch(/\d+ records were not sent; they are when the run is started again/);
  });
});
