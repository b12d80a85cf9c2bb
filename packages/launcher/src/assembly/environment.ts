/** `explorer.env_vars`: the environment of the user's workflows, which is that of the process. */

/** Sets the variables and returns what puts the old values back. */
export function setEnvironment(variables: Readonly<Record<string, string>>): () => void {
  const before = Object.keys(variables).map((name) => [name, process.env[name]] as const);
  Object.assign(process.env, variables);
  return () => {
    for (const [name, value] of before) {
      if (value === undefined) delete process.env[name];
      else process.env[name] = value;
    }
  };
}
