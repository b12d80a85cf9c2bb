/** The chat template of a model folder, in the two places where programs look for it. */
import { tryJson } from '@trinity-rft/core/support';

const [configFile, templateFile] = ['tokenizer_config.json', 'chat_template.jinja'];

/**
 * Copies a template that is a file of its own into `tokenizer_config.json`, which is made where it is missing,
 * in place of another template there: transformers.js and earlier versions of transformers read it only there.
 * @param files contents by name
 */
export function withTemplate(
  files: ReadonlyMap<string, Uint8Array>,
): ReadonlyMap<string, Uint8Array> {
  const textOf = (name: string): string | undefined => {
    const bytes = files.get(name);
    return bytes && Buffer.from(bytes).toString();
  };
  const template = textOf(templateFile);
  const fields = parse(textOf(configFile) ?? '{}');
  if (template === undefined || fields === undefined || fields['chat_template'] === template)
    return files;
  const merged = { ...fields, chat_template: template };
  return new Map(files).set(configFile, Buffer.from(`${JSON.stringify(merged, null, 2)}\n`));
}

/** Undefined for text that is no JSON object: the next reader of the folder reports it. */
function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = tryJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}
