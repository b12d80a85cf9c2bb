import { expect, it } from 'vitest';
import { createRequestMetrics } from '../src/request-metrics.js';
import { served } from './helpers.js';

it('counts requests by route and status, and unknown paths as one', () => {
  let now = 0;
  const metrics = createRequestMetrics(() => now);
  const end = metrics.begin('/r/abc/v1/chat/completions');
  now = 300;
  end(200);
  end(500);
  metrics.begin('/a')(404);
  metrics.begin('/b"\n')(404);
  const lines = metrics.text({ 'rollout/sessions': 3 }).split('\n');
  const chat = 'route="/v1/chat/completions"';
  expect(lines).toContain(`trinity_requests_total{${chat},status="200"} 1`);
  expect(lines).toContain('trinity_requests_total{route="other",status="404"} 2');
  expect(lines).toContain(`trinity_request_seconds_bucket{${chat},le="0.25"} 0`);
  expect(lines).toContain(`trinity_request_seconds_bucket{${chat},le="0.5"} 1`);
  expect(lines).toContain(`trinity_request_seconds_sum{${chat}} 0.3`);
  expect(lines).toContain('trinity_requests_in_flight 0');
  expect(lines).toContain('trinity_rollout_sessions 3');
});

it('are text for a scraper and JSON for everybody else', async () => {
  const { ask, serve, turns } = await served();
  await ask();
  const scrape = new Request('http://server/metrics', {
    headers: { accept: 'application/openmetrics-text;q=0.5,text/plain;version=0.0.4;q=0.3' },
  });
  const answer = await serve.handler(scrape);
  expect(answer.headers.get('content-type')).toBe('text/plain; version=0.0.4; charset=utf-8');
  expect(await answer.text()).toMatch(/^trinity_requests_total\{.*status="200"\} 1$/m);
  const json = await serve.handler(new Request('http://server/metrics'));
  expect(await json.json()).toMatchObject({ 'rollout/total_experience_count': 1 });
  await turns.close();
});
