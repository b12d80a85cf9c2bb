/** Finds tools whose names change from call to call. */
import { ConfigError } from '@trinity-rft/core';

/**
 * `createAgent({ responseFormat })` numbers what it makes of schemas without a title, in the order
 * in which a process makes them.
 */
const numbered = /^extract-\d+$/;

/**
 * Names of tools in the body of a request, chat completion or response, that a counter made. Empty
 * for what is no JSON.
 */
export function unstableToolNames(body: string): readonly string[] {
  const { tools } = parse(body);
  if (!Array.isArray(tools)) return [];
  return tools
    .map(nameOf)
    .filter((name): name is string => typeof name === 'string' && numbered.test(name));
}

/** `inner`, which is not called for requests with such tools. @throws ConfigError instead */
export function refuseUnstableTools(inner: typeof globalThis.fetch): typeof globalThis.fetch {
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

function parse(text: string): { readonly tools?: unknown } {
  try {
    return (JSON.parse(text) ?? {}) as { readonly tools?: unknown };
  } catch {
    return {};
  }
}

function unstable(names: readonly string[]): ConfigError {
  return new ConfigError(
    `The agent offers ${names.join(', ')}, a tool that LangChain names anew for every call, so no two prompts are equal. Give the schema of responseFormat a title, which becomes the name: z.object({ ... }).meta({ title: 'answer' }); or set unstableTools: 'allow'.`,
    { code: 'TOOL_NAME_UNSTABLE' },
  );
}
