/** Metrics of a model server. */
import { addProcess, createRegistry } from '@trinity-rft/http-server';
import type { CallRecord } from './call-record.js';

import type { ServedModels } from './served-models.js';

export interface Answered extends CallRecord {
  readonly model: string;
  /** Method and path of the requests, such as `POST /v1/chat/completions`. */
  readonly route: string;
  /** HTTP status; 499 if the client disconnected before the response. */
  readonly status: number;
  readonly seconds: number;
}

export function createMetrics(models: ServedModels): {
  answered(call: Answered): void;
  text(): string;
} {
  const registry = createRegistry();
  const requests = registry.counter('trinity_requests_total', 'Answered requests.');
  const prompt = registry.counter('trinity_prompt_tokens_total', 'Tokens of prompts.');
  const completion = registry.counter('trinity_completion_tokens_total', 'Sampled tokens.');
  const duration = registry.histogram('trinity_request_seconds', 'Time until the answer was sent.');
  const first = registry.histogram('trinity_first_token_seconds', 'Time until the first token.');
  registry.gauge('trinity_requests_in_flight', 'Requests in progress.', () =>
    models.names.map((model) => [{ model }, models.inFlight(model)]),
  );
  registry.gauge('trinity_model_step', 'Train step of the weights in use.', () =>
    models.names.flatMap((model) => {
      const run = models.current(model)?.place.run;
      return run ? [[{ model }, run.step] as const] : [];
    }),
  );
  registry.gauge('trinity_model_reload_failed', '1: newer weights could not be loaded.', () =>
    models.names.map((model) => [{ model }, models.failures.has(model) ? 1 : 0]),
  );
  addProcess(registry);
  return {
    answered: ({ model, route, status, seconds, promptTokens, completionTokens, firstTokenMs }) => {
      requests.add({ model, route, status: String(status) });
      prompt.add({ model }, promptTokens);
      completion.add({ model }, completionTokens);
      duration.observe({ model }, seconds);
      if (firstTokenMs !== undefined) first.observe({ model }, firstTokenMs / 1000);
    },
    text: () => registry.text(),
  };
}
