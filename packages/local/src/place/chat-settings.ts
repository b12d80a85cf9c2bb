/** Settings for chatting with a model, with keys named as in `explorer.rollout_model`. */
import { ConfigError } from '@trinity-rft/core';

/**
 * Chat settings as plain data. They are stored as `chat` in the `export.json` of an export, and in
 * the settings of each stage in the `settings.json` of a run.
 */
export interface ChatSettings {
  /** Jinja source of the chat template. @default the template from the model's folder */
  readonly chat_template?: string;
  /** Name of the tool call parser. @default no parser: tool calls remain in the text */
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
 * Checks chat settings that a user may have written.
 * @param place file or option that holds them, for errors
 * @throws ConfigError for an unknown setting or a value of the wrong type
 */
export function checkedChatSettings(
  values: Readonly<Record<string, unknown>>,
  place: string,
): ChatSettings {
  for (const [key, value] of Object.entries(values)) {
    const kind = Object.hasOwn(kinds, key) ? kinds[key as keyof ChatSettings] : undefined;
    if (kind !== undefined && (value === undefined || typeof value === kind)) continue;
    const expected =
      kind === undefined
        ? `which is no chat setting; expected one of ${Object.keys(kinds).join(', ')}`
        : `expected a ${kind}`;
    throw new ConfigError(`${place}: ${key} is ${JSON.stringify(value)}, ${expected}.`, {
      code: 'CHAT_SETTING',
    });
  }
  return chatSettingsIn(values);
}

/** Returns the chat settings in `values`. Ignores other keys, and values of the wrong type. */
export const chatSettingsIn = (values: Readonly<Record<string, unknown>>): ChatSettings =>
  Object.fromEntries(
    Object.entries(kinds)
      .map(([key, kind]) => [key, values[key], kind] as const)
      .filter(([, value, kind]) => typeof value === kind)
      .map(([key, value]) => [key, value]),
  );
