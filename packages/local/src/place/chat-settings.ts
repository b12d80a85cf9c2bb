/** Settings for chatting with a model, with keys named as in `explorer.rollout_model`. */
import { ConfigError } from '@trinity-rft/core';

/**
 * Chat settings as plain data. They are stored as `chat` in the `export.json` of an export, and in
 * the settings of each stage in the `settings.json` of a run.
 */
export interface ChatSettings {
  /** Jinja source of the chat template. @default the template from the model's folder */
  readonly chat_template?: string;
  /**
   * Name of the tool call parser.
   * @default for a run or export, no parser: tool calls remain in the text; for any other model,
   * the parser that fits the chat template, if it shows any
   */
  readonly tool_call_parser?: string;
  /** Name of the reasoning parser. @default no parser: reasoning remains in the text */
  readonly reasoning_parser?: string;
  /**
   * `generic` to describe tools in the system message.
   * @default undefined: the chat template describes tools
   */
  readonly tool_prompt?: string;
  /**
   * True if the model may reason before it responds. @default undefined: the chat template decides
   */
  readonly enable_thinking?: boolean;
  /**
   * Maximum length of prompt and response in training, in tokens.
   * @default the model's own limit
   */
  readonly max_model_len?: number;
}

const kinds: Readonly<Record<keyof ChatSettings, 'string' | 'boolean' | 'number'>> = {
  chat_template: 'string',
  tool_call_parser: 'string',
  reasoning_parser: 'string',
  tool_prompt: 'string',
  enable_thinking: 'boolean',
  max_model_len: 'number',
};

/**
 * Checks chat settings that a user may have written. A setting that is null counts as unset.
 * @param place file or option that holds them, for errors
 * @param advice sentence at the end of errors
 * @throws ConfigError for an unknown setting or a value of the wrong type
 */
export function checkedChatSettings(values: unknown, place: string, advice = ''): ChatSettings {
  const refuse = (what: string, value: unknown, expected: string): never => {
    const text = `${place}: ${what} is ${JSON.stringify(value).slice(0, 80)}, ${expected}. ${advice}`;
    throw new ConfigError(text.trimEnd(), { code: 'CHAT_SETTING' });
  };
  if (typeof values !== 'object' || values === null || Array.isArray(values))
    return refuse('chat', values, 'expected an object');
  const given = values as Readonly<Record<string, unknown>>;
  for (const [key, value] of Object.entries(given)) {
    const kind = Object.hasOwn(kinds, key) ? kinds[key as keyof ChatSettings] : undefined;
    if (kind !== undefined && (value === undefined || value === null || typeof value === kind))
      continue;
    const expected =
      kind === undefined
        ? `which is no chat setting; expected one of ${Object.keys(kinds).join(', ')}`
        : `expected a ${kind}`;
    refuse(key, value, expected);
  }
  return chatSettingsIn(given);
}

/** Returns the chat settings in `values`. Ignores other keys, and values of the wrong type. */
export const chatSettingsIn = (values: Readonly<Record<string, unknown>>): ChatSettings =>
  Object.fromEntries(
    Object.entries(kinds)
      .map(([key, kind]) => [key, values[key], kind] as const)
      .filter(([, value, kind]) => typeof value === kind)
      .map(([key, value]) => [key, value]),
  );
