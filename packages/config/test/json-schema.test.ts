import { describe, expect, it } from 'vitest';
import { configJsonSchema, type JsonSchema } from '../src/index.js';

const schema = configJsonSchema();

function property(path: string, root: JsonSchema = schema): JsonSchema {
  const found = path
    .split('.')
    .reduce<JsonSchema | undefined>((current, name) => (current?.['properties'] as Record<string, JsonSchema> | undefined)?.[name], root);
  if (found === undefined) throw new RangeError(`no ${path}`);
  return found;
}

describe('the JSON Schema', () => {
  it('is plain JSON of draft 7 that refuses unknown keys and requires nothing', () => {
    expect(schema).toMatchObject({ $schema: 'http://json-schema.org/draft-07/schema#', type: 'object', additionalProperties: false });
    expect(schema['required']).toBeUndefined();
    expect(JSON.parse(JSON.stringify(schema))).toEqual(schema);
  });

  it('describes keys with default, range and status', () => {
    expect(property('buffer.batch_size')).toMatchObject({
      default: 1,
      description: 'Tasks per explore step.',
      anyOf: [
        { type: 'integer', minimum: 1 },
        { type: 'string', pattern: '\\$\\{' },
      ],
    });
    expect(property('explorer.rollout_model.engine_num')).toMatchObject({
      deprecated: true,
      description: expect.stringContaining('Ignored: There is one embedded engine.'),
    });
    expect(property('model.tinker.enable')['description']).toContain('Not built yet');
  });

  it('knows other names of keys and of values', () => {
    expect(property('explorer.rollout_model.enable_openai_client')).toMatchObject({ description: 'Another name of enable_openai_api.' });
    expect(property('synchronizer.sync_style')['anyOf']).toMatchObject([
      { enum: expect.arrayContaining(['explorer_driven', 'dynamic_by_explorer']) },
      {},
    ]);
    expect(property('monitor.monitor_type')['anyOf']).toHaveLength(2);
  });

  it('describes stages by the same sections', () => {
    const stage = property('stages')['items'] as JsonSchema;
    expect(stage['required']).toEqual(['stage_name']);
    expect(property('synchronizer.sync_interval', stage)).toEqual(property('synchronizer.sync_interval'));
  });
});
