/** Lists models for clients of OpenAI and of Anthropic, whose fields have different names. */

/** An entry of the list of models. */
export interface ModelObject {
  readonly id: string;
  readonly [field: string]: unknown;
}

/**
 * Creates the entry of a model.
 * @param createdAt time in ms since 1970
 */
export const modelObject = (id: string, createdAt: number): ModelObject => ({
  id,
  object: 'model',
  created: Math.floor(createdAt / 1000),
  owned_by: 'trinity-rft',
  type: 'model',
  display_name: id,
  created_at: new Date(createdAt).toISOString(),
});

/** Creates the body of the response to `GET /v1/models`. */
export const modelList = (data: readonly ModelObject[]): object => ({
  object: 'list',
  data,
  has_more: false,
  first_id: data[0]?.id ?? null,
  last_id: data.at(-1)?.id ?? null,
});
