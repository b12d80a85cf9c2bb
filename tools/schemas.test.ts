/**
 * Enforced schemas: those that libraries make, as documented in docs/reference/schemas.md, and random
 * ones.
 */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { toJsonSchema } from '@valibot/to-json-schema';
import { asSchema } from 'ai';
import fc from 'fast-check';
import { zodResponseFormat } from 'openai/helpers/zod';
import * as v from 'valibot';
import { z } from 'zod';
import { z as z3 } from 'zod-3';
import { zodToJsonSchema } from 'zod-to-json-schema';
import { describe, expect, it } from 'vitest';
import { createRandom } from '../packages/core/src/index.ts';
import { documents } from '../bench/schemas/arbitrary.ts';
import { enforce, judge, type Document } from '../bench/schemas/check.ts';

const read = (...path: string[]): string =>
  readFileSync(join(import.meta.dirname, ...path), 'utf8');

const zod = (schema: z.ZodType): Document =>
  z.toJSONSchema(schema, { unrepresentable: 'any', io: 'input' }) as Document;
const zod3 = (schema: z3.ZodTypeAny): Document => zodToJsonSchema(schema as never) as Document;
const valibot = (schema: v.GenericSchema): Document =>
  toJsonSchema(schema, { errorMode: 'ignore' }) as Document;
const openai = (schema: z.ZodType): Document =>
  zodResponseFormat(schema, 'x').json_schema.schema as Document;
const ai = async (schema: z.ZodType): Promise<Document> =>
  (await asSchema(schema).jsonSchema) as Document;

const cat = z.object({ kind: z.literal('cat'), lives: z.int().min(0) });
const dog = z.object({ kind: z.literal('dog'), name: z.string().nullable() });
interface Tree {
  readonly value: number;
  readonly children: readonly Tree[];
}
const tree: z.ZodType<Tree> = z.lazy(() =>
  z.object({ value: z.number(), children: z.array(tree) }),
);
const tree3: z3.ZodTypeAny = z3.lazy(() =>
  z3.object({ value: z3.number(), children: z3.array(tree3) }),
);

/** Schemas of each library, by the names in the document. */
const made: Readonly<Record<string, Readonly<Record<string, Document | Promise<Document>>>>> = {
  'zod 4': {
    'z.object, z.strictObject, z.looseObject': zod(
      z.object({ a: z.strictObject({ b: z.int() }), c: z.looseObject({ d: z.string() }) }),
    ),
    'z.record, z.partialRecord': zod(
      z.object({
        r: z.record(z.string(), z.number()),
        e: z.record(z.enum(['a', 'b']), z.string()),
        p: z.partialRecord(z.enum(['a']), z.int()),
      }),
    ),
    'z.tuple with and without rest': zod(
      z.tuple([z.tuple([z.string()], z.number()), z.tuple([z.int(), z.null()])]),
    ),
    'z.never().optional()': zod(z.object({ a: z.int(), no: z.never().optional() })),
    'z.discriminatedUnion, z.union, z.xor': zod(
      z.tuple([
        z.discriminatedUnion('kind', [cat, dog]),
        z.union([cat, dog]),
        z.xor([z.object({ a: z.int() }), z.object({ b: z.int() })]),
      ]),
    ),
    'z.intersection': zod(
      z.intersection(
        z.object({ a: z.int() }),
        z.union([z.object({ b: z.int() }), z.object({ c: z.int() })]),
      ),
    ),
    'z.lazy, z.json': zod(z.object({ tree, any: z.json() })),
    'min, max, length, regex, startsWith': zod(
      z.tuple([
        z.string().min(2).max(9),
        z.number().positive().lt(2.5),
        z
          .string()
          .regex(/^[a-z]+$/i)
          .max(8),
        z.string().startsWith('x'),
        z.array(z.int()).length(3),
      ]),
    ),
    'z.email, z.url, z.uuid, z.iso, z.ipv4, z.base64 and others': zod(
      z.tuple([
        z.email(),
        z.url(),
        z.uuid(),
        z.iso.datetime(),
        z.iso.date(),
        z.iso.duration(),
        z.ipv4(),
        z.ipv6(),
        z.base64(),
        z.emoji(),
        z.ulid(),
        z.templateLiteral(['a-', z.number()]),
      ]),
    ),
    'z.float32, z.int32, multipleOf(5)': zod(
      z.tuple([z.float32(), z.int32(), z.number().multipleOf(5)]),
    ),
    'z.hostname': zod(z.hostname()),
    'multipleOf(0.01)': zod(z.number().multipleOf(0.01)),
    'regex with \\b, back references, lookbehind': zod(z.string().regex(/\bword\b/)),
  },
  'zod 3': {
    'z.record, z.map': zod3(
      z3.object({
        r: z3.record(z3.number()),
        e: z3.record(z3.enum(['a', 'b']), z3.string()),
        m: z3.map(z3.string(), z3.number()),
      }),
    ),
    'z.tuple with and without rest': zod3(
      z3.tuple([z3.tuple([z3.string()]).rest(z3.number()), z3.tuple([z3.number(), z3.null()])]),
    ),
    'z.never().optional()': zod3(z3.object({ a: z3.number(), no: z3.never().optional() })),
    'z.intersection, z.discriminatedUnion, z.nativeEnum': zod3(
      z3.tuple([
        z3.intersection(z3.object({ a: z3.string() }), z3.object({ b: z3.string() })),
        z3.discriminatedUnion('k', [
          z3.object({ k: z3.literal('x') }),
          z3.object({ k: z3.literal('y') }),
        ]),
        z3.nativeEnum({ A: 1, B: 'x' }),
      ]),
    ),
    'z.lazy': zod3(tree3),
    'email, url, datetime, ip, cuid, emoji': zod3(
      z3.tuple([
        z3.string().email(),
        z3.string().url(),
        z3.string().datetime(),
        z3.string().ip(),
        z3.string().cuid(),
        z3.string().emoji(),
      ]),
    ),
    'z.string().cidr()': zod3(z3.string().cidr()),
    'z.set': zod3(z3.set(z3.string())),
  },
  valibot: {
    'v.object, v.strictObject, v.objectWithRest': valibot(
      v.tuple([
        v.object({ a: v.string() }),
        v.strictObject({ b: v.number() }),
        v.objectWithRest({ c: v.string() }, v.number()),
      ]),
    ),
    'v.record, v.picklist keys, v.minEntries(1)': valibot(
      v.tuple([
        v.record(v.picklist(['a', 'b']), v.string()),
        v.pipe(v.record(v.string(), v.number()), v.minEntries(1)),
      ]),
    ),
    'v.tuple, v.strictTuple, v.tupleWithRest': valibot(
      v.tuple([v.strictTuple([v.string()]), v.tupleWithRest([v.string()], v.number())]),
    ),
    'v.variant, v.intersect, v.nullish, v.enum': valibot(
      v.tuple([
        v.variant('k', [v.object({ k: v.literal('x') }), v.object({ k: v.literal('y') })]),
        v.intersect([v.object({ a: v.string() }), v.object({ b: v.string() })]),
        v.nullish(v.number()),
        v.enum({ A: 'a', B: 1 }),
      ]),
    ),
    'v.optional(v.never())': valibot(v.object({ a: v.string(), no: v.optional(v.never()) })),
    'v.email, v.url, v.uuid, v.isoTimestamp, v.regex': valibot(
      v.tuple([
        v.pipe(v.string(), v.email()),
        v.pipe(v.string(), v.url()),
        v.pipe(v.string(), v.uuid()),
        v.pipe(v.string(), v.isoTimestamp()),
        v.pipe(v.string(), v.regex(/^a+$/)),
      ]),
    ),
  },
  'OpenAI SDK': {
    zodResponseFormat: openai(
      z.object({
        step: z.string(),
        pet: z.union([cat, dog]),
        tags: z.array(z.string()).nullable(),
        tree,
      }),
    ),
  },
  'AI SDK': {
    'Output.object, tool({ inputSchema })': ai(
      z.object({
        pet: z.discriminatedUnion('kind', [cat, dog]),
        r: z.record(z.string(), z.int()),
        t: z.tuple([z.string(), z.int()]),
        no: z.never().optional(),
      }),
    ),
  },
  pydantic: JSON.parse(read('fixtures', 'pydantic-schemas.json')) as Record<string, Document>,
};

/** Rows of the document: library, construct, and `works` or the refused keyword. */
const rows = [
  ...read('..', 'docs', 'reference', 'schemas.md').matchAll(
    /^\| (.+?) +\| `?(.+?)`? +\| (works|refused: .+?) +\|$/gm,
  ),
].map(([, library = '', construct = '', outcome = '']) => ({ library, construct, outcome }));

describe('schemas that libraries make', () => {
  it('are all in the document', () => {
    const names = Object.entries(made).flatMap(([library, constructs]) =>
      Object.keys(constructs).map((construct) => `${library}: ${construct}`),
    );
    expect(
      rows
        .map(({ library, construct }) => `${library}: ${construct.replaceAll('`', '')}`)
        .toSorted(),
    ).toEqual(names.toSorted());
  });

  it.for(rows)('$library: $construct: $outcome', async ({ library, construct, outcome }) => {
    const schema = (await made[library]?.[construct.replaceAll('`', '')])!;
    const judged = judge(schema, createRandom(1), 10);
    const [, keyword] = /`(.+?)`/.exec(outcome) ?? [];
    const refusal = keyword ? `.${keyword} ` : outcome.replace(/^refused: |, as .*$/g, '');
    const named = judged.refusal?.includes(refusal) === true ? refusal : judged.refusal;
    expect({ ...judged, refusal: named }).toMatchObject(
      outcome === 'works' ? { answers: 10, wrong: [], missing: [] } : { refusal },
    );
  });
});

it('answers to random schemas are valid, and valid answers are allowed', () => {
  for (const schema of fc.sample(documents, { numRuns: 60, seed: 7 })) {
    const { wrong, missing } = judge(schema, createRandom(7), 10);
    expect({ schema, wrong, missing }).toEqual({ schema, wrong: [], missing: [] });
  }
});

it('refuses a demand that nothing satisfies', () => {
  expect(enforce({ type: 'string', enum: [1] })).toEqual({
    refusal: expect.stringContaining('allows no value') as string,
  });
});
