import { describe, expect, it } from 'vitest';
import { configJsonSchema, type JsonSchema } from '../src/index.js';
import { engines } from './workspace.js';

const schema = configJsonSchema({ engines });

function property(path: string, root: JsonSchema = schema): JsonSchema {
  const found = path
    .split('.')
    .reduce<JsonSchema | undefined>(
      (current, name) =>
        (current?.['properties'] as Record<string, JsonSchema> | undefined)?.[name],
      root,
    );
  if (found === undefined) throw new RangeError(`no ${path}`);
  return found;
}

describe('the JSON Schema', () => {
  it('is plain JSON of draft 7 that rejects unknown keys and requires nothing', () => {
    expect(schema).toMatchObject({
      $schema: 'http://json-schema.org/draft-07/schema#',
      type: 'object',
      additionalProperties: false,
    });
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
    expect(property('model.repetition_penalty')['description']).toContain('Not supported');
  });

  it('knows other names of keys and of values', () => {
    expect(property('explorer.rollout_model.enable_openai_client')).toMatchObject({
      description: 'Another name of enable_openai_api.',
    });
    expect(property('synchronizer.sync_style')['anyOf']).toMatchObject([
      { enum: expect.arrayContaining(['explorer_driven', 'dynamic_by_explorer']) },
      {},
    ]);
    expect(property('monitor.monitor_type')['anyOf']).toHaveLength(2);
  });

  it('describes stages by the same sections', () => {
    const stage = property('stages')['items'] as JsonSchema;
    expect(stage['required']).toEqual(['stage_name']);
    expect(property('synchronizer.sync_interval', stage)).toEqual(
      property('synchronizer.sync_interval'),
    );
  });

  it('describes the arguments of a part where its name stands, and at the top level where the algorithm implies it', () => {
    const conditions = property('algorithm')['allOf'] as readonly {
      readonly if: { readonly anyOf: readonly JsonSchema[] };
      readonly then: JsonSchema;
    }[];
    const gspo = conditions.find(({ then }) =>
      JSON.stringify(then).includes('policy_loss_fn.gspo'),
    );
    expect(gspo?.if.anyOf).toEqual([
      { properties: { policy_loss_fn: { const: 'gspo' } }, required: ['policy_loss_fn'] },
      {
        not: { required: ['policy_loss_fn'] },
        properties: { algorithm_type: { enum: ['gspo'] } },
        required: ['algorithm_type'],
      },
    ]);
    expect(
      (schema['definitions'] as Record<string, JsonSchema>)['policy_loss_fn.gspo'],
    ).toMatchObject({
      additionalProperties: false,
      properties: {
        clip_range_low: { default: null },
      },
    });
    const stage = property('algorithm', property('stages')['items'] as JsonSchema)[
      'allOf'
    ] as readonly { readonly if: JsonSchema }[];
    expect(
      stage.filter((condition) => JSON.stringify(condition.if).includes('algorithm_type')),
    ).toEqual([]);
  });
});
