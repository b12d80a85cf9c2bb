/** Schema of the `model` section. */
import { z } from 'zod';
import { logprobsPerCall } from './data.js';
import { derived, field, filledIn, ignored, kept, maybe, notSupported, section } from './fields.js';
import { dict, flag, float, int, oneOf, text, word } from './scalars.js';

/** Linear layers of a decoder with grouped-query attention and a gated feed-forward block. */
export const linearModules = [
  'q_proj',
  'k_proj',
  'v_proj',
  'o_proj',
  'gate_proj',
  'up_proj',
  'down_proj',
] as const;

/**
 * Modules that combine several linear layers in one matrix: queries, keys and values, or gate and
 * up.
 */
export const fusedModules = ['qkv_proj', 'gate_up_proj'] as const;

/** Modules of LFM2: the input and output projections of its mixers, and the feed-forward block. */
export const convolutionModules = ['in_proj', 'out_proj', 'w1', 'w3', 'w2'] as const;

/**
 * Linear layers that compute the inputs of the gated delta rule. The layer after the rule is
 * `out_proj`.
 */
export const deltaModules = ['in_proj_qkv', 'in_proj_z', 'in_proj_b', 'in_proj_a'] as const;

/** Feed-forward modules of Granite 4: one matrix for gate and up, and one for down. */
export const graniteModules = ['input_linear', 'output_linear'] as const;

const adaptable = [
  ...linearModules,
  ...fusedModules,
  ...convolutionModules,
  ...deltaModules,
  ...graniteModules,
] as const;

/** Schema of a list, which may also be written as a single item or as items separated by commas. */
export const oneOrMore = <S extends z.ZodType>(item: S) =>
  z.preprocess(
    (value) => (typeof value === 'string' ? value.split(',').map((word) => word.trim()) : value),
    z.array(item),
  );

export const float32 = 'The embedded engine computes in float32.';
export const tunesVllm = 'It tunes vLLM.';
export const noPython = 'No Python code of a model is ever run.';

const lora = z
  .strictObject({
    name: maybe(text(), 'Name of the adapter.'),
    path: maybe(
      text(),
      'Folder of an adapter as PEFT saves it, to continue: its rank, scale and layers are used. Default: a new one.',
    ),
    base_model_name: maybe(
      text(),
      'Model the adapter belongs to.',
      ignored('It is model.model_path.', { except: [null] }),
    ),
    lora_rank: field(int({ min: 1 }), 32, 'Rank.'),
    lora_alpha: field(float({ above: 0 }), 32, 'Scale: the adapter counts alpha / rank times.'),
    lora_dtype: field(text(), 'auto', 'Number format.', ignored(float32)),
    target_modules: field(
      oneOrMore(oneOf(['all-linear', ...adaptable])),
      ['all-linear'],
      'Layers with an adapter: all-linear, one name or a list.',
    ),
    exclude_modules: maybe(oneOrMore(oneOf(adaptable)), 'Layers without one; one name or a list.'),
    is_dummy: filledIn(),
  })
  .describe('An adapter.');

/**
 * Creates the section of a model behind an API.
 * @param refused reason why the section cannot be used at this place; undefined if it can be used
 */
export const externalModel = (refused?: string) =>
  section(
    {
      enable: field(
        flag(),
        false,
        'A model behind an OpenAI-compatible API answers: in mode bench, and for algorithms that imitate, such as raft.',
        ...(refused === undefined ? [] : [notSupported(refused)]),
      ),
      base_url_env: field(
        text(),
        'OPENAI_BASE_URL',
        'Environment variable that holds the address.',
      ),
      api_key_env: field(text(), 'OPENAI_API_KEY', 'Environment variable that holds the key.'),
      model_name: maybe(text(), 'Name of the model there.'),
    },
    'A model behind an external API.',
    derived,
  );

export const model = section(
  {
    model_path: field(
      text(),
      '',
      'Folder of a Hugging Face model, a GGUF file, or the id of a model on the hub (owner/name, owner/name/file.gguf, also with @revision), which is fetched into the cache of the hub.',
    ),
    critic_model_path: field(
      text(),
      '',
      'Folder or hub id of the model that the critic starts from, with the tokenizer of the policy. Default: model_path. Where the engine has no value head, as on a Tinker server, the embedded engine trains the critic, which needs weights here.',
      derived,
    ),
    trust_remote_code: field(flag(), false, 'Python models only.', ignored(noPython)),
    custom_chat_template: maybe(text(), 'Chat template as text.', derived),
    chat_template_path: maybe(
      word(),
      'File of the chat template; wins over custom_chat_template.',
      derived,
    ),
    temperature: field(float({ min: 0 }), 1, 'Sampling temperature; 0 = greedy.'),
    top_p: field(float({ above: 0, max: 1 }), 1, 'Share of the probability that is sampled from.'),
    top_k: field(int({ min: -1 }), -1, 'Number of tokens that are sampled from; -1 = all.'),
    logprobs: field(
      int({ min: 0, max: 20 }),
      0,
      'Alternatives reported per sampled token.',
      ignored(logprobsPerCall),
      kept,
    ),
    max_model_len: maybe(
      int({ min: 2 }),
      'Tokens of prompt and response together. Default: their sum, else what the model on disk allows.',
      derived,
    ),
    max_prompt_tokens: maybe(
      int({ min: 1 }),
      'Longest prompt. Default: what max_model_len leaves.',
      derived,
    ),
    max_response_tokens: maybe(
      int({ min: 1 }),
      'Longest response. Default: what max_model_len leaves. Where many responses become long, the embedded engine samples as many at once as memory_budget_mb holds.',
      derived,
    ),
    min_response_tokens: field(int({ min: 0 }), 0, 'Shortest response.'),
    enable_prompt_truncation: field(
      flag(),
      true,
      'Ignored: a prompt that is too long is never cut; its run is counted as prompt_too_long.',
      ignored('A prompt that is too long is never cut; its run is counted as prompt_too_long.'),
    ),
    repetition_penalty: field(
      float({ above: 0 }),
      1,
      'Other than 1: tokens that occurred become less likely.',
      notSupported(
        'What is sampled would differ from what is trained. Use 1, or subtract a penalty from the reward in a reward function of your own.',
      ),
    ),
    enable_thinking: maybe(flag(), 'Passed to the chat template.'),
    lora_configs: maybe(
      z.array(lora),
      'The adapter that is trained instead of the weights themselves; at most one.',
      derived,
    ),
    quantization: maybe(
      oneOf(['none', 'int8', 'int4', 'file']),
      'Extension. With lora_configs: the weights below the adapter in blocks of integers, for samples, scores and gradients alike. int8, int4: rounded when they are loaded. file: as a quantised GGUF file has them. Needs a quarter of the memory and samples faster; checkpoints hold the adapter alone. Default: that of the checkpoint whose adapter the stage continues; file for such a file, else none.',
    ),
    fully_sharded_loras: field(flag(), false, 'vLLM only.', ignored(tunesVllm)),
    max_cpu_loras: maybe(int(), 'vLLM only.', ignored(tunesVllm)),
    rope_scaling: maybe(
      dict(),
      'Stretches the positions; the folder of the model may hold its own.',
      notSupported('Put it into config.json of the model folder, if the model supports it.', {
        except: [null],
      }),
    ),
    rope_theta: maybe(
      float({ above: 0 }),
      'Base of the positions; the folder of the model holds its own.',
      notSupported('It is read from config.json of the model folder.', { except: [null] }),
    ),
    tinker: section(
      {
        enable: field(
          flag(),
          false,
          'Train and sample on a server that speaks the Tinker protocol, as trainer_type: tinker does. Its key is in the environment variable TINKER_API_KEY.',
          derived,
        ),
        rank: field(int({ min: 1 }), 16, "Rank of the adapter. Its alpha is the server's."),
        seed: maybe(int(), 'Seed of the adapter. Default: that of the run.'),
        train_mlp: field(flag(), true, 'Adapt feed-forward layers.'),
        train_attn: field(flag(), true, 'Adapt attention layers.'),
        train_unembed: field(
          flag(),
          true,
          'Adapt the output layer. Never where vLLM samples, which takes no such adapter.',
        ),
        base_url: maybe(
          text(),
          'Address of the server. Default: the environment variable TINKER_BASE_URL, else hosted Tinker.',
        ),
        base_model: maybe(
          text(),
          'Extension. The name of the model on the server. Default: the hub id in model_path, else the only model that the server has.',
        ),
        server: maybe(
          oneOf(['tuft', 'skyrl']),
          'Extension. The program whose start `trinity config plan` prints. Default: tuft, and skyrl where the server samples as well.',
        ),
        forward_backward_chunk_bytes: maybe(
          int({ min: 1 }),
          'Largest request of a train step in Trinity-RFT.',
          ignored('It tunes the requests of Trinity-RFT.', { except: [null] }),
        ),
        server_loss_fn: maybe(
          text(),
          'A loss that runs on the server.',
          notSupported(
            'Losses run here, through importance sampling or cross-entropy of the server; remove it.',
            { except: [null] },
          ),
        ),
        prices: section(
          {
            prefill: maybe(float({ min: 0 }), 'Of tokens that are read.'),
            sample: maybe(float({ min: 0 }), 'Of tokens that are sampled.'),
            train: maybe(float({ min: 0 }), 'Of tokens that are trained on.'),
          },
          'Extension. What the server charges for a million tokens, in US dollars. `trinity config plan` says with them what a run costs at most.',
        ),
      },
      'A server that speaks the Tinker protocol: hosted Tinker, TuFT, SkyRL. `model_path` is the same model here, for its tokenizer; its weights are not read.',
    ),
    external_model: externalModel(),
    device: field(
      oneOf(['cpu', 'webgpu', 'auto']),
      'cpu',
      'Extension. Where the embedded engine computes. webgpu: experimental, on the GPU that `trinity doctor gpu` lists first; needs the packages @trinity-rft/engine-webgpu and webgpu. auto: webgpu where a check of its numbers passes and a step of the model was at least 1.5 times faster than on the CPU, else cpu; the first run measures, later ones with the same GPU, driver, versions and model use the stored result. A resumed run keeps its device. Critics and judges stay on the CPU.',
    ),
    threads: maybe(
      int({ min: 1, max: 1024 }),
      'Extension. Threads of the embedded engine. Default: the engine decides.',
    ),
    memory_budget_mb: maybe(
      int({ min: 16 }),
      "Extension. Memory for the activations of one micro-batch, in MiB, and as much for keys and values. Default: 384; gradients of larger models take up to an eighth of the machine's memory where that is faster (not in `trinity serve`).",
    ),
  },
  'The model that is trained, and its limits.',
);
