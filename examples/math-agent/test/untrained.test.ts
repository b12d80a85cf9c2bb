import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { sysPrompt } from '../src/agent.ts';
import { ask } from '../src/untrained.ts';

it('asks any model that serves the OpenAI API', async () => {
  const bodies: unknown[] = [];
  const answer = {
    choices: [{ index: 0, finish_reason: 'stop', message: { role: 'assistant', content: '4' } }],
  };
  const server = createServer((request, response) => {
    void text(request).then((body) => {
      bodies.push(JSON.parse(body));
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  try {
    const baseURL = `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`;
    const model = { modelName: 'any', apiKey: 'key', baseURL, stream: false };
    expect(await ask('What is 2 + 2?', model)).toBe('4');
    expect(bodies).toEqual([
      {
        model: 'any',
        messages: [
          { role: 'system', name: 'system', content: [{ type: 'text', text: sysPrompt }] },
          { role: 'user', name: 'user', content: [{ type: 'text', text: 'What is 2 + 2?' }] },
        ],
        tools: [],
        tool_choice: 'auto',
      },
    ]);
  } finally {
    server.close();
  }
});
