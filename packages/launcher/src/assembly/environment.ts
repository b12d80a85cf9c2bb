/** Sets environment variables for workflows, which run in this process and read `process.env`. */
import type { Environment } from '@trinity-rft/buffer/internal';
import type { StageConfig } from '@trinity-rft/config';
import { knowSecretsOf } from '@trinity-rft/core/support';

/**
 * Merges the environment variables of the training run with `explorer.env_vars`, which have
 * precedence. From then on, texts are redacted of the secrets in `explorer.env_vars`, because errors
 * of workflows may contain them.
 */
export function variablesOf(
  { explorer }: Pick<StageConfig, 'explorer'>,
  env: Environment,
): Environment {
  knowSecretsOf(explorer.envVars);
  return { ...env, ...explorer.envVars };
}

/**
 * Sets the variables that differ from those in `process.env`. Returns a function that restores
 * their previous values.
 */
export function setEnvironment(variables: Environment): () => void {
  const names = Object.keys(variables).filter((name) => process.env[name] !== variables[name]);
  const before = names.map((name) => [name, process.env[name]] as const);
  for (const name of names) setVariable(name, variables[name]);
  return () => before.forEach(([name, value]) => setVariable(name, value));
}

function setVariable(name: string, value: string | undefined): void {
  if (value === undefined) delete process.env[name];
  else process.env[name] = value;
}
