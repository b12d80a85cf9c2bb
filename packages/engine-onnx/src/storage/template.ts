/** The chat template of a model folder, in the two places where programs look for it. */

const [configFile, templateFile] = ['tokenizer_config.json', 'chat_template.jinja'];

/**
 * Copies a template that is a file of its own into `tokenizer_config.json`: transformers.js and earlier versions
 * of transformers read it only there.
 * @param files contents by name
 */
export function withTemplate(
  files: ReadonlyMap<string, Uint8Array>,
): ReadonlyMap<string, Uint8Array> {
  const [config, template] = [files.get(configFile), files.get(templateFile)];
  if (config === undefined || template === undefined) return files;
  const text = Buffer.from(config).toString();
  const fields = parse(text);
  if (fields === undefined || Object.hasOwn(fields, 'chat_template')) return files;
  const merged = { ...fields, chat_template: Buffer.from(template).toString() };
  return new Map(files).set(configFile, Buffer.from(`${JSON.stringify(merged, null, 2)}\n`));
}

/** Undefined for text that is no JSON object: the next reader of the folder reports it. */
function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Readonly<Record<string, unknown>>)
      : undefined;
  } catch {
    return undefined;
  }
}
