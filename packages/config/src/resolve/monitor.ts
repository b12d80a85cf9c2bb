/**
 * Resolves the arguments of the tracking services. For several services, the file groups the
 * arguments by the name of the service.
 */
import type { MonitorArgs } from './base/resolved.js';
import type { StageContext } from './base/context.js';
import { showValue } from '../source/secrets.js';

type Dict = Readonly<Record<string, unknown>>;

const known: Readonly<
  Record<string, { readonly text: readonly string[]; readonly list?: string }>
> = {
  tensorboard: { text: [] },
  wandb: { text: ['base_url', 'api_key', 'entity', 'group'], list: 'tags' },
  mlflow: { text: ['uri', 'username', 'password'] },
  swanlab: {
    text: ['api_host', 'api_key', 'workspace', 'group', 'description'],
    list: 'tags',
  },
};

const secretKeys: Readonly<Record<string, string>> = {
  'wandb.api_key': 'WANDB_API_KEY',
  'swanlab.api_key': 'SWANLAB_API_KEY',
  'mlflow.password': 'MLFLOW_TRACKING_PASSWORD',
};

export function deriveMonitorArgs(context: StageContext): MonitorArgs {
  const { monitor_type: types, monitor_args: given } = context.input.monitor;
  if (given === null || Object.keys(given).length === 0) return {};
  const services = types.filter((name) => Object.hasOwn(known, name));
  const isNested = Object.entries(given).every(
    ([name, value]) => Object.hasOwn(known, name) && isDict(value),
  );
  if (isNested) return nested(context, services, given as Readonly<Record<string, Dict>>);
  const takers = services.filter((name) => name !== 'tensorboard');
  const [only, other] = takers;
  if (other !== undefined) {
    const example = `{${takers.map((name) => `${name}: {...}`).join(', ')}}`;
    context.report(
      ['monitor', 'monitor_args'],
      `does not say which monitor it is for. Put the arguments below the names: ${example}.`,
    );
    return {};
  }
  const service = only ?? services[0] ?? types[0] ?? 'tensorboard';
  return { [service]: argsOf(context, service, given, []) };
}

function nested(
  context: StageContext,
  services: readonly string[],
  given: Readonly<Record<string, Dict>>,
): MonitorArgs {
  const entries = Object.entries(given).flatMap(([name, args]) => {
    if (services.includes(name)) return [[name, argsOf(context, name, args, [name])] as const];
    context.warn(
      ['monitor', 'monitor_args', name],
      `ignored. monitor.monitor_type does not name ${name}.`,
    );
    return [];
  });
  return Object.fromEntries(entries);
}

function argsOf(
  context: StageContext,
  service: string,
  given: Dict,
  below: readonly string[],
): Dict {
  const { text, list } = known[service] ?? { text: [] };
  const entries = Object.entries(given).filter(([key, value]) => {
    const path = ['monitor', 'monitor_args', ...below, key];
    if (value === null) return false;
    if (!text.includes(key) && key !== list) {
      const takes = [...text, ...(list === undefined ? [] : [list])];
      const hint = takes.length === 0 ? 'no arguments' : takes.join(', ');
      context.warn(path, `ignored. ${service} takes ${hint}.`);
      return false;
    }
    const isRight =
      key === list
        ? Array.isArray(value) && value.every((item) => typeof item === 'string')
        : typeof value === 'string';
    if (!isRight) {
      const expected = key === list ? 'a list of texts' : 'text. Put it in quotes';
      context.report(path, `got ${showValue(value, path)}, expected ${expected}.`);
    }
    warnOfSecret(context, path, secretKeys[`${service}.${key}`]);
    return isRight;
  });
  return Object.fromEntries(entries);
}

function warnOfSecret(
  context: StageContext,
  path: readonly string[],
  variable: string | undefined,
): void {
  if (variable !== undefined)
    context.warn(
      path,
      `belongs into the environment, as ${variable}: files are copied and shared. It is used, and neither printed nor stored.`,
    );
}

const isDict = (value: unknown): value is Dict =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
