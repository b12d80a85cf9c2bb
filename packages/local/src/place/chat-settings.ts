/** How a model is talked to, under the keys of `explorer.rollout_model`. */

/** Plain data. `export.json` holds it under `chat`, and the settings of a run hold it by stage. */
export interface ChatSettings {
  /** Jinja source. @default the template of the model's folder */
  readonly chat_template?: string;
  /** @default none: tool calls stay in the text */
  readonly tool_call_parser?: string;
  /** @default none: reasoning stays in the text */
  readonly reasoning_parser?: string;
  /** `generic`: tools are described in the system message. @default the template describes them */
  readonly tool_prompt?: string;
  /** @default left to the template */
  readonly enable_thinking?: boolean;
  /** Longest prompt and answer, in tokens, that the model was trained with. @default the model's own limit */
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

/** The settings among `values`; those of another type are left out. */
export const chatSettingsIn = (values: Readonly<Record<string, unknown>>): ChatSettings =>
  Object.fromEntries(
    Object.entries(kinds)
      .map(([key, kind]) => [key, values[key], kind] as const)
      .filter(([, value, kind]) => typeof value === kind)
      .map(([key, value]) => [key, value]),
  );
