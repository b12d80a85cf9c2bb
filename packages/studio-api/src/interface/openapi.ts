/** The interface as an OpenAPI document. */
import { z } from 'zod';
import { routes, type Route } from './routes.js';
import { problem } from './schemas.js';

/** What `openapi.json` of this package holds. */
export function openApi(): unknown {
  const table: Readonly<Record<string, Route>> = routes;
  return {
    openapi: '3.1.0',
    info: {
      title: 'Runs of Trinity-RFT',
      version: '1',
      description:
        'Read-only, on loopback. Every request needs `Authorization: Bearer KEY`, with the key that `trinity studio` prints.',
    },
    components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    security: [{ key: [] }],
    paths: Object.fromEntries(
      Object.entries(table).map(([path, route]) => [path, { get: operation(path, route) }]),
    ),
  };
}

function operation(path: string, { summary, query, answer, type = 'application/json' }: Route) {
  const inPath = [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: name === 'id' ? 'integer' : 'string' },
  }));
  const inQuery = Object.entries(query).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !schema.safeParse(undefined).success,
    schema: jsonSchema(schema),
  }));
  return {
    summary,
    parameters: [...inPath, ...inQuery],
    responses: {
      200: { description: summary, content: { [type]: { schema: jsonSchema(answer) } } },
      default: {
        description: 'What is wrong: 401 without the key, 403 for a foreign host, 404, 500.',
        content: { 'application/json': { schema: jsonSchema(problem) } },
      },
    },
  };
}

function jsonSchema(schema: z.ZodType): unknown {
  const { $schema: _, ...rest } = z.toJSONSchema(schema) as Record<string, unknown>;
  return rest;
}
