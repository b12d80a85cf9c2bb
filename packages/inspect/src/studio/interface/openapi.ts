import { z } from 'zod';
import { problem, type Action, type Actions, type Route, type Routes } from './route.js';

/** The OpenAPI document for a table of routes, such as `openapi.json` of this package. */
export function openApi(routes: Routes, actions: Actions): unknown {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Runs of Trinity-RFT',
      version: '1',
      description:
        'Served on loopback. Every request needs `Authorization: Bearer KEY`, with the key that `trinity studio` prints.',
    },
    components: { securitySchemes: { key: { type: 'http', scheme: 'bearer' } } },
    security: [{ key: [] }],
    paths: Object.fromEntries([
      ...Object.entries(routes).map(([path, route]) => [path, { get: reading(path, route) }]),
      ...Object.entries(actions).map(([path, action]) => [path, { post: acting(path, action) }]),
    ]),
  };
}

function reading(path: string, { summary, query, answer, type }: Route) {
  const inQuery = Object.entries(query).map(([name, schema]) => ({
    name,
    in: 'query',
    required: !schema.safeParse(undefined).success,
    schema: jsonSchema(schema),
  }));
  return {
    summary,
    parameters: [...inPath(path), ...inQuery],
    responses: responses(summary, answer, type),
  };
}

function acting(path: string, { summary, body, answer }: Action) {
  return {
    summary,
    parameters: inPath(path),
    requestBody: { required: true, content: { [json]: { schema: jsonSchema(body) } } },
    responses: responses(summary, answer),
  };
}

const json = 'application/json';

const inPath = (path: string) =>
  [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => ({
    name,
    in: 'path',
    required: true,
    schema: { type: name === 'id' ? 'integer' : 'string' },
  }));

const responses = (summary: string, answer: z.ZodType, type = json) => ({
  200: { description: summary, content: { [type]: { schema: jsonSchema(answer) } } },
  default: {
    description: 'Error: 400, 401 without the key, 403 for a foreign host, 404, 500.',
    content: { [json]: { schema: jsonSchema(problem) } },
  },
});

function jsonSchema(schema: z.ZodType): unknown {
  const { $schema: _, ...rest } = z.toJSONSchema(schema) as Record<string, unknown>;
  return rest;
}
