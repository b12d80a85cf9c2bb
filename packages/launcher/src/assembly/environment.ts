/**
 * Applies `explorer.env_vars`, environment variables for workflows, to this operating-system
 * process.
 */
import type { Environment } from '@trinity-rft/buffer/internal';
import type { StageConfig } from '@trinity-rft/config';

/**
 * Merges the environment variables of the training run with `explorer.env_vars`, which have
 * precedence.
 */
export const variablesOf = (
  { explorer }: Pick<StageConfig, 'explorer'>,
  env: Environment,
): Environment => ({ ...env, ...explorer.envVars });

/** Sets the variables. Returns a function that restores the old values. */
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
