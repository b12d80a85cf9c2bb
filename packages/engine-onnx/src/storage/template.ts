/** Stores the chat template of a model folder in both places where programs look for it. */
import { tryJson } from '@trinity-rft/core/support';

const [configFile, templateFile] = ['tokenizer_config.json', 'chat_template.jinja'];

/**
 * Copies the template of `chat_template.jinja` into `tokenizer_config.json`, because
 * transformers.js and earlier versions of transformers read it only from there. Creates
 * `tokenizer_config.json` if it is missing, and replaces any template in it.
 * @param files contents of files, keyed by name
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

/**
 * Parses a JSON object. Returns undefined for any other text, because the next program that reads
 * the folder reports the problem.
 */
function parse(text: string): Readonly<Record<string, unknown>> | undefined {
  const value = tryJson(text);
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as Readonly<Record<string, unknown>>)
    : undefined;
}
