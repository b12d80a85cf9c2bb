/** Adds the routes of the playground. */
import { notFound, type Api, type AttemptRow } from '@trinity-rft/inspect/studio';
import {
  askProductBody,
  commitBody,
  feedbackBody,
  playgroundRoutes,
  sayBody,
} from '../interface/playground.js';
import { scoreBody } from '../interface/scoring.js';
import { findCheckpoints } from './checkpoints.js';
import { askProduct, productClient } from './product.js';
import type { CallToScore } from './protocol.js';
import type { Speakers } from './speakers.js';

export function addPlayground(api: Api, speakers: Speakers): void {
  api.ofRun(playgroundRoutes, '/api/runs/{run}/checkpoints', async ({ place }) => {
    const found = await findCheckpoints(place.folder);
    return Response.json(found.map(({ name, step }) => ({ name, step })));
  });
  const checkpointOf = async (folder: string, name: string) =>
    (await findCheckpoints(folder)).find((each) => each.name === name);
  api.actOnRun('say', sayBody, async ({ place }, { checkpoint: name, ...request }) => {
    const checkpoint = await checkpointOf(place.folder, name);
    if (!checkpoint) return noCheckpoint(name);
    return streamed((tell, signal) => speakers.say(checkpoint, request, signal, tell));
  });
  api.actOnRun('score', scoreBody, async (run, { checkpoint: name, rollout }) => {
    const checkpoint = await checkpointOf(run.place.folder, name);
    const rows = await (await run.rollouts())?.attempt(rollout);
    if (!checkpoint) return noCheckpoint(name);
    if (!rows) return notFound(`${run.place.id} has no rollout with the row ${rollout}.`);
    const calls = rows.map(toScore);
    return streamed((tell, signal) => speakers.score(checkpoint, calls, signal, tell));
  });
  api.act('playground/ask', askProductBody, async (given, context) =>
    context.json(await askProduct(given, context.req.raw.signal)),
  );
  api.act('playground/feedback', feedbackBody, async (given, context) => {
    const { reward, answer, task, run } = given;
    const feedback = { reward, msgIds: [answer], taskId: task, runId: run };
    const { applied, already } = await productClient(given).feedback(feedback);
    return context.json({ applied: applied.length + already.length });
  });
  api.act('playground/commit', commitBody, async (given, context) =>
    context.json(await productClient(given).commit()),
  );
}

const noCheckpoint = (name: string): Response =>
  notFound(`The run has no checkpoint ${name} that can answer. It may have been deleted.`);

const toScore = ({ id, experience }: AttemptRow): CallToScore => {
  const { tokens, promptLength, temperature, logprobs, actionMask } = experience;
  return {
    id,
    tokens: [...tokens],
    promptLength,
    temperature,
    recorded: Array.from(logprobs, (value, i) => (actionMask[i] === 1 ? value : null)),
  };
};

/**
 * Streams the parts that `work` reports as lines of JSON. Cancels `work` when the client
 * disconnects.
 */
function streamed<T>(
  work: (tell: (part: T) => void, signal: AbortSignal) => Promise<void>,
): Response {
  const stop = new AbortController();
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    start: async (controller) => {
      const tell = (part: T): void => {
        if (!stop.signal.aborted) controller.enqueue(encoder.encode(`${JSON.stringify(part)}\n`));
      };
      await work(tell, stop.signal);
      if (!stop.signal.aborted) controller.close();
    },
    cancel: () => stop.abort(new Error('The page no longer waits for the answer.')),
  });
  return new Response(body, { headers: { 'content-type': 'application/x-ndjson' } });
}
