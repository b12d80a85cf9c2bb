/** Finds tools whose name changes with every call. */
import { ConfigError } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';

/**
 * Matches the tool names that `createAgent({ responseFormat })` generates for schemas without a
 * title.
 */
const numbered = /^extract-\d+$/;

/**
 * Returns the generated tool names in a request body. Returns an empty list if the body is not
 * JSON.
 */
export function unstableToolNames(body: string): readonly string[] {
  const { tools } = (tryJson(body) ?? {}) as { readonly tools?: unknown };
  if (!Array.isArray(tools)) return [];
  return tools
    .map(nameOf)
    .filter((name): name is string => typeof name === 'string' && numbered.test(name));
}

/** Wraps `inner` so that requests with generated tool names throw a ConfigError. */
export function rejectUnstableTools(inner: typeof globalThis.fetch): typeof globalThis.fetch {
  return async (input, init) => {
    const names = typeof init?.body === 'string' ? unstableToolNames(init.body) : [];
    if (names.length > 0) throw unstable(names);
    return inner(input, init);
  };
}

function nameOf(
  tool: { readonly name?: unknown; readonly function?: { readonly name?: unknown } } | null,
): unknown {
  return tool?.function?.name ?? tool?.name;
}

function unstable(names: readonly string[]): ConfigError {
  return new ConfigError(
    `LangChain renames the tool ${names.join(', ')} with every call, ` +
      'so no two prompts are equal. ' +
      'Give the schema of responseFormat a title, which becomes its name: ' +
      "z.object({ ... }).meta({ title: 'answer' }); " +
      "or set unstableTools: 'allow'.",
    { code: 'TOOL_NAME_UNSTABLE' },
  );
}
