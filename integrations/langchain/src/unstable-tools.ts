/** Finds tools whose names change with every call. */
import { ConfigError } from '@trinity-rft/core';
import { tryJson } from '@trinity-rft/core/support';

/**
 * Matches the names that `createAgent({ responseFormat })` gives to tools for schemas without a
 * title.
 */
const numbered = /^extract-\d+$/;

/** Returns the numbered tool names in a request body; empty if the body is not JSON. */
export function unstableToolNames(body: string): readonly string[] {
  const { tools } = (tryJson(body) ?? {}) as { readonly tools?: unknown };
  if (!Array.isArray(tools)) return [];
  return tools
    .map(nameOf)
    .filter((name): name is string => typeof name === 'string' && numbered.test(name));
}

/** Wraps `inner` so that requests with numbered tool names throw a ConfigError. */
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
