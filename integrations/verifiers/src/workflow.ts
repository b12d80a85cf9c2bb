/** Workflow that runs environments of the verifiers library on an environment server. */
import { WorkflowError } from '@trinity-rft/core';
import { defineWorkflow, type WorkflowContext } from '@trinity-rft/workflow';
import { z } from 'zod';
import { runRollout } from './env-server.js';

const seconds = z.number().positive();

const argsSchema = z.strictObject({
  address: z
    .string()
    .regex(/^tcp:\/\/[^/]+:\d+$/, 'Write tcp://HOST:PORT.')
    .default('tcp://127.0.0.1:5000'),
  /** Maximum wait for the server's first response, in seconds. */
  start_timeout: seconds.default(60),
  /** Timeout of a rollout in seconds. */
  timeout: seconds.default(1800),
});

/**
 * Workflow for environments of the verifiers library. Each row of the task set is a task, as
 * serialized by its taskset (`model_dump(mode="json")`). The server runs the agent, which calls the
 * rollout's model endpoint, and scores the rollout. The scores become metrics with names of the
 * form `score/NAME`.
 */
export const verifiersWorkflow = defineWorkflow({
  name: 'verifiers_workflow',
  args: argsSchema,
  run: async (context, { address, start_timeout: start, timeout }) => {
    const { baseURL, apiKey, model } = context.model.endpoint();
    if (new URL(baseURL).hostname.endsWith('.invalid')) throw noAddress();
    const request = { taskData: context.task.rawTask, baseURL, apiKey, model };
    const options = { address, startMs: start * 1000, timeoutMs: timeout * 1000 };
    const { reward, scores } = await runRollout(
      { ...request, sampling: samplingOf(context) },
      { ...options, signal: context.signal },
    );
    const metrics = Object.entries(scores).map(
      ([name, score]) => [`score/${name}`, score] as const,
    );
    return { reward, metrics: Object.fromEntries(metrics) };
  },
});

/** Returns the sampling settings of the rollout, limited to those that OpenAI's API supports. */
function samplingOf({ task }: WorkflowContext): Readonly<Record<string, unknown>> {
  const { temperature, topP, maxTokens } = task.rolloutArgs;
  const sampling = { temperature, top_p: topP, max_tokens: maxTokens };
  return Object.fromEntries(Object.entries(sampling).filter(([, value]) => value !== undefined));
}

const noAddress = () =>
  new WorkflowError(
    'The model of this run has no HTTP address, which the environment server needs. Mount it with openEndpointServer, as the launcher does.',
    { code: 'NO_HTTP_ADDRESS' },
  );
