/** Stores the chat template of a model folder in both places where programs look for it. */
import { templateList, toolTemplateFile } from '@trinity-rft/chat/internal';
import { tryJson } from '@trinity-rft/core/support';

const [configFile, templateFile] = ['tokenizer_config.json', 'chat_template.jinja'];

/**
 * Copies the template of `chat_template.jinja` into `tokenizer_config.json`, because
 * transformers.js and earlier versions of transformers read it only from there. Creates
 * `tokenizer_config.json` if it is missing, and replaces any template in it. If there is a separate
 * template for tools, `tokenizer_config.json` gets both, and their files are omitted. A template
 * for tools without any other is omitted.
 * @param files contents of files, keyed by name
 */
export function withTemplate(
  files: ReadonlyMap<string, Uint8Array>,
): ReadonlyMap<string, Uint8Array> {
  const textOf = (name: string): string | undefined => {
    const bytes = files.get(name);
    return bytes && Buffer.from(bytes).toString();
  };
  const forTools = textOf(toolTemplateFile);
  const kept = new Map(files);
  kept.delete(toolTemplateFile);
  const fields = parse(textOf(configFile) ?? '{}');
  const template = textOf(templateFile) ?? fields?.['chat_template'];
  if (typeof template !== 'string' || fields === undefined) return kept;
  if (forTools !== undefined) kept.delete(templateFile);
  const chat_template = forTools === undefined ? template : templateList(template, forTools);
  if (fields['chat_template'] === chat_template) return kept;
  const merged = { ...fields, chat_template };
  return kept.set(configFile, Buffer.from(`${JSON.stringify(merged, null, 2)}\n`));
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
