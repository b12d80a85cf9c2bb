/** HTTP routes that validate a grader, or execute it on one answer, without a job. */
import {
  createGrader,
  graderSample,
  graderSchema,
  modelsOfGrader,
  needsPython,
  type CompleteFn,
  type GraderSpec,
} from '@trinity-rft/workflow/reward';
import type { Hono } from 'hono';
import type { BaseModels } from '../store/base-models.js';
import { fieldError } from '../wire/job-request.js';
import { refused, unknownParameter } from '../wire/refuse.js';
import type { Brought } from './model-routes.js';
import { readBody } from './read-request.js';

export interface GraderContext {
  readonly models: BaseModels;
  readonly pythonGraders: boolean;
  /** Function that requests a chat completion from one of the server's models. */
  readonly complete: CompleteFn;
}

const place = '/v1/fine_tuning/alpha/graders';

export function addGraderRoutes(app: Hono<Brought>, context: GraderContext): void {
  app.post(`${place}/validate`, async ({ req, json }) => {
    const { grader } = await readBody(req.raw);
    return json({ grader: readGrader(grader, context) });
  });
  app.post(`${place}/run`, async ({ req, json }) => {
    const { grader: given, model_sample: sample, item, ...others } = await readBody(req.raw);
    const [unknown] = Object.keys(others);
    if (unknown !== undefined) throw unknownParameter(unknown);
    if (typeof sample !== 'string')
      throw refused("Missing required parameter: 'model_sample', a text.", {
        param: 'model_sample',
      });
    if (!isRow(item))
      throw refused("Invalid value for 'item': expected an object.", { param: 'item' });
    const spec = readGrader(given, context);
    const { complete, pythonGraders: python } = context;
    const grader = createGrader(spec, { complete, python });
    const { signal } = req.raw;
    const result = await grader.grade({ item: item ?? {}, sample: graderSample(sample), signal });
    return json({
      // A failed grader has no reward. A 0 would be a reward.
      reward: result.reward ?? null,
      sub_rewards: result.subRewards,
      metadata: {
        name: spec.name,
        type: spec.type,
        errors: result.errors,
        execution_time: result.seconds,
        scores: result.subRewards,
        token_usage: Object.values(result.tokenUsage).reduce(
          (sum, { total_tokens: total }) => sum + total,
          0,
        ),
        sampled_model_name: null,
      },
      model_grader_token_usage_per_model: result.tokenUsage,
    });
  });
}

const isRow = (item: unknown): item is Readonly<Record<string, unknown>> | null | undefined =>
  item === undefined || (typeof item === 'object' && !Array.isArray(item));

/**
 * Reads and validates the grader of a request.
 * @throws ModelError 400 if the grader is missing or not valid
 */
function readGrader(given: unknown, context: GraderContext): GraderSpec {
  if (given === undefined)
    throw refused("Missing required parameter: 'grader'.", {
      param: 'grader',
      code: 'missing_required_parameter',
    });
  const { success, data, error } = graderSchema.safeParse(given);
  if (!success) throw fieldError(error, 'grader');
  checkGrader(data, context, 'grader');
  return data;
}

/**
 * Checks that the server can execute a grader.
 * @throws ModelError 400 if the grader names an unknown model, or contains Python and Python is not
 * allowed
 */
export function checkGrader(
  spec: GraderSpec,
  { models, pythonGraders }: Pick<GraderContext, 'models' | 'pythonGraders'>,
  param: string,
): void {
  const missing = modelsOfGrader(spec).find((name) => !Object.hasOwn(models, name));
  if (missing !== undefined)
    throw refused(
      `The grader asks the model "${missing}", which is not here. The models are ${Object.keys(models).join(', ')}.`,
      { param: `${param}.model`, code: 'model_not_available' },
    );
  if (needsPython(spec) && !pythonGraders)
    throw refused(
      'The grader runs Python, which this server does not do. Start it with --python-graders if you trust the code of its clients.',
      { param: `${param}.type`, code: 'python_grader_not_allowed' },
    );
}
