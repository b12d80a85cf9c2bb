import { createRuntime } from '@trinity-rft/core';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { parseBody, readBody } from '../protocols/shared/request/body.js';
import { normalizeTools } from '../rollout/tool-definitions.js';
import { createBodyThread } from './thread.js';

const thread = createBodyThread();
afterAll(() => thread.close());

const runtime = createRuntime();
const long = '"quoted"\\ and\nlong '.repeat(20_000);
const parse: typeof thread.parse = (body) => thread.parse(body);
const read = (text: string, parseLongBody = parse) =>
  readBody(
    new Request('http://model/v1', { method: 'POST', body: text }),
    { runtime, parseLongBody },
    'a test',
  );

describe('createBodyThread', () => {
  it('reads what would be read at once, tool schemas as they were spelled included', async () => {
    const schema = '{"type": "object", "properties": {"x": {"maximum": 1.0}}}';
    const text = `{"text": ${JSON.stringify(long)}, "tools": [{"type": "function", "function": {"name": "f", "parameters": ${schema}}}]}`;
    const expected = parseBody({
      bytes: new TextEncoder().encode(text),
      contentType: null,
      expected: '',
    });
    const { value, digest } = await read(text);
    expect({ value, digest }).toEqual({ value: expected.value, digest: expected.digest });
    expect(expected.sources.map(({ source }) => source)).toEqual([schema]);
    const [tool] = normalizeTools((value as { tools: unknown[] }).tools) ?? [];
    expect(tool).toMatchObject({ parametersSource: schema });
  });

  it('refuses what is not JSON or nests too deep as 400', async () => {
    await expect(read(`{"text": ${JSON.stringify(long)},}`)).rejects.toMatchObject({
      name: 'ModelError',
      status: 400,
      code: 'invalid_json',
    });
    const deep = `${'['.repeat(200)}${JSON.stringify(long)}${']'.repeat(200)}`;
    await expect(read(deep)).rejects.toMatchObject({ status: 400 });
  });

  it('gets long bodies only', async () => {
    const counted = vi.fn<typeof parse>(parse);
    await read('{"text": "short"}', counted);
    expect(counted).not.toHaveBeenCalled();
  });
});
