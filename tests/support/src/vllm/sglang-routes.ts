/** Routes of SGLang on top of those of vLLM, with the shapes of its documentation. */
export type Json = Readonly<Record<string, unknown>>;
export type Routes = Readonly<Record<string, (body: Json, gone: AbortSignal) => unknown>>;

interface Generated {
  readonly choices: readonly {
    readonly finish_reason: string;
    readonly stop_reason: unknown;
    readonly weight_versions: readonly { readonly version: string }[];
    readonly logprobs: { readonly content: readonly Drawn[] };
  }[];
  readonly prompt_logprobs:
    | readonly (Readonly<Record<string, { logprob: number }>> | null)[]
    | null;
}

interface Drawn {
  readonly token_id: number;
  readonly logprob: number | null;
  readonly top_logprobs: readonly { readonly token_id: number; readonly logprob: number }[];
}

export function sglangRoutes(vllm: Routes): Routes {
  const ask = async (path: string, body: Json, gone: AbortSignal): Promise<unknown> =>
    vllm[path]?.(body, gone);
  return {
    '/generate': async (body, gone) => {
      const answer = await ask('/inference/v1/generate', request(body), gone).catch(
        (error: Error & { readonly status?: number }) => {
          if (error.status !== 404) throw error;
          const message = `The following requested LoRA adapters are not loaded: ${String(body['lora_path'])}`;
          throw Object.assign(new Error(message), { status: 400 });
        },
      );
      const { choices } = answer as Partial<Generated>;
      return choices?.[0] ? inShape(answer as Generated, body) : answer;
    },
    '/tokenize': async (body, gone) => ask('/tokenize', body, gone),
    '/detokenize': async (body, gone) => {
      const answer = (await ask('/detokenize', body, gone)) as { readonly prompt: string };
      return { ...answer, text: answer.prompt };
    },
    '/load_lora_adapter': async (body, gone) => {
      await ask('/v1/load_lora_adapter', body, gone);
      return { success: true, loaded_adapters: {} };
    },
    '/unload_lora_adapter': async (body, gone) => {
      await ask('/v1/unload_lora_adapter', body, gone);
      return { success: true, loaded_adapters: {} };
    },
    '/update_weights_from_disk': async ({ model_path: folder, weight_version }, gone) => {
      await ask('/pause?mode=wait', {}, gone);
      try {
        await ask('/collective_rpc', { kwargs: { weights_path: folder } }, gone);
        await ask('/update_weight_version', { new_version: weight_version }, gone);
      } finally {
        await ask('/resume', {}, gone);
      }
      return {
        success: true,
        message: 'Succeeded to update model weights.',
        num_paused_requests: 0,
      };
    },
  };
}

/** Converts a request. With `ignore_eos`, SGLang also ignores stop tokens. */
function request(body: Json): Json {
  const params = body['sampling_params'] as Json;
  return {
    model: body['lora_path'],
    token_ids: body['input_ids'],
    sampling_params: {
      ...params,
      max_tokens: params['max_new_tokens'],
      min_tokens: params['min_new_tokens'],
      stop_token_ids: params['ignore_eos'] === true ? [] : params['stop_token_ids'],
      seed: params['sampling_seed'],
      logprobs: body['top_logprobs_num'],
      prompt_logprobs: body['logprob_start_len'] === 0 ? 0 : undefined,
    },
  };
}

function inShape({ choices: [choice], prompt_logprobs: scored }: Generated, body: Json): unknown {
  if (!choice) return {};
  const { content } = choice.logprobs;
  const prompt = body['input_ids'] as readonly number[];
  const wanted = Number(body['top_logprobs_num'] ?? 0);
  return {
    text: '',
    output_ids: content.map(({ token_id: id }) => id),
    meta_info: {
      id: 'generate-1',
      prompt_tokens: prompt.length,
      completion_tokens: content.length,
      cached_tokens: 0,
      weight_version: choice.weight_versions.at(-1)?.version,
      finish_reason:
        choice.finish_reason === 'stop'
          ? { type: 'stop', matched: choice.stop_reason }
          : { type: choice.finish_reason, length: content.length },
      output_token_logprobs: content.map(({ token_id: id, logprob }) => [logprob, id, null]),
      output_top_logprobs: content.map(({ top_logprobs: top }) =>
        wanted > 0 ? top.slice(0, wanted).map((one) => [one.logprob, one.token_id, null]) : null,
      ),
      input_token_logprobs: scored?.map((one, i) => [
        one?.[prompt[i] ?? -1]?.logprob ?? null,
        prompt[i],
        null,
      ]),
    },
  };
}
