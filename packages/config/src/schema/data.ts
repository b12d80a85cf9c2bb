/** Keys for reading rows of data, for the order of rows, and for sampling. */
import { z } from 'zod';
import {
  converted,
  derived,
  emptyIsNone,
  field,
  ignored,
  kept,
  maybe,
  notSupported,
  section,
} from './fields.js';
import { dict, flag, float, int, oneOf, text } from './scalars.js';

export const logprobsPerCall = 'A workflow asks for alternatives per call, with top_logprobs.';

/** Schema of the sampling settings for the tasks of a task set. */
export const generation = section(
  {
    temperature: maybe(float({ min: 0 }), 'Default: explorer.rollout_model.temperature.'),
    top_p: maybe(float({ above: 0, max: 1 }), 'Default: explorer.rollout_model.top_p.'),
    top_k: maybe(int({ min: -1 }), '-1 = all. Default: explorer.rollout_model.top_k.'),
    logprobs: maybe(
      int({ min: 0, max: 20 }),
      'Alternatives reported per token. Default: model.logprobs.',
      ignored(logprobsPerCall, { except: [null, 0] }),
      kept,
    ),
    max_tokens: maybe(
      int({ min: 1 }),
      'At most explorer.rollout_model.max_response_tokens, which is the default.',
    ),
    n: field(
      int({ min: 1 }),
      1,
      'Filled in by the run, from repeat_times.',
      ignored('repeat_times decides.'),
    ),
  },
  'How the model samples for these tasks.',
  derived,
);

const onlyText = () => notSupported('Only text can be trained.', { except: [null] });
const modelDecides = () => ignored('The model section decides.', { except: [null] });

const columns = {
  prompt_type: field(
    oneOf(['messages', 'plaintext']),
    'messages',
    'Supervised data: conversations, or a prompt and a response.',
  ),
  prompt_key: field(
    text(),
    'prompt',
    'Column of the prompt; where there is none of that name, dots lead into one, as in extra.question.',
  ),
  response_key: field(text(), 'response', 'Column of the expected answer; dots as in prompt_key.'),
  system_prompt_key: maybe(text(), 'Column of a system prompt per row; wins over system_prompt.'),
  system_prompt: maybe(text(), 'System prompt for every row.'),
  messages_key: field(
    text(),
    'message',
    'Column of the conversation; many data sets call it messages.',
  ),
  tools_key: field(text(), 'tools', 'Column of the tool definitions.'),
  image_key: maybe(text(), 'Column of images.', onlyText()),
  video_key: maybe(text(), 'Column of videos.', onlyText()),
  reply_prefix: maybe(text(), 'The reply of the model begins with this text.'),
  workflow_key: field(
    text(),
    '',
    'Column that names the workflow of a row.',
    converted(emptyIsNone),
  ),
  reward_fn_key: field(
    text(),
    '',
    'Column that names the reward function of a row.',
    converted(emptyIsNone),
  ),
  chosen_key: field(text(), 'chosen', 'Pairs: column of the better answer.'),
  rejected_key: field(text(), 'rejected', 'Pairs: column of the worse answer.'),
  enable_concatenated_multi_turn: field(
    flag(),
    false,
    'Supervised data: train on every assistant turn.',
  ),
  chat_template: maybe(
    text(),
    'Default: the chat template of the model section.',
    modelDecides(),
    kept,
  ),
};

const thinkingText = 'Default: model.enable_thinking.';

/** Schema of the layout of task rows. */
export const taskFormat = section(
  { ...columns, enable_thinking: maybe(flag(), thinkingText, modelDecides(), kept) },
  'How rows are read.',
);

/** Schema of the layout of supervised rows. */
export const rowFormat = section(
  { ...columns, enable_thinking: maybe(flag(), thinkingText) },
  'How rows are read.',
);

const orders = [
  'sequential',
  'shuffle',
  'random',
  'offline_easy2hard',
  'difficulty_based',
] as const;
const seedText = 'Default: derived from the seed of the run.';
const seed = () => maybe(int({ min: 0, max: 4294967295 }), seedText);

const forTasks = 'It is for task sets.';

/** Schema of the order of supervised rows. */
export const rowSelector = section(
  {
    selector_type: field(
      oneOf(orders),
      'sequential',
      'The order of the rows.',
      notSupported('Supported for rows to imitate: sequential, shuffle, random.', {
        values: ['offline_easy2hard', 'difficulty_based'],
      }),
    ),
    seed: seed(),
    feature_keys: field(z.array(text()), [], 'For task sets.', ignored(forTasks)),
    kwargs: field(dict(), {}, 'For task sets.', ignored(forTasks)),
  },
  'The order of the rows.',
);

/** Schema of the order of tasks. */
export const taskSelector = section(
  {
    selector_type: field(
      oneOf(orders),
      'sequential',
      'The order of the rows. offline_easy2hard: by feature_keys, highest first; difficulty_based: those whose pass rate is estimated near target_reward (BOTS), which needs the operator pass_rate_calculator.',
    ),
    seed: seed(),
    feature_keys: field(
      z.array(text()),
      [],
      'Columns with numbers. offline_easy2hard: the first counts most. difficulty_based: pass rates of a weak and of a strong model.',
    ),
    kwargs: field(
      dict(),
      {},
      'difficulty_based: m (16), lamb (0.2), rho (0.2), adaptive_rho (false), target_reward (1), tau (1; 0 = the nearest tasks), do_sample (false).',
      derived,
    ),
  },
  'The order of the tasks.',
);
