/**
 * Notifies a webhook when jobs end. Messages are signed according to the Standard Webhooks
 * specification: https://www.standardwebhooks.com
 */
import { createHmac } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { ConfigError, describeError } from '@trinity-rft/core';
import { isOver, type JobRecord } from '../store/jobs.js';

export interface WebhookSettings {
  readonly url: string;
  /** Signing secret: the prefix `whsec_` followed by at least 24 bytes in base64. */
  readonly secret: string;
}

/** Delays before the retries, in milliseconds. */
const pausesMs = [1000, 5000, 25_000, 120_000, 600_000];
const deadlineMs = 10_000;

/**
 * Checks the settings of a webhook.
 * @throws ConfigError for an invalid URL or secret
 */
export function checkWebhook({ url, secret }: WebhookSettings): void {
  const address = URL.parse(url);
  const isHttp = address !== null && /^https?:$/.test(address.protocol);
  // A text that is no address may contain a password too.
  if (isHttp ? address.username + address.password !== '' : url.includes('@'))
    throw new ConfigError(
      '--webhook has a user name or password. Give an address without them: TRINITY_WEBHOOK_SECRET signs the messages.',
      { code: 'WEBHOOK' },
    );
  if (!isHttp)
    throw new ConfigError(`--webhook is "${url}". Expected an http or https address.`, {
      code: 'WEBHOOK',
    });
  if (!/^whsec_[A-Za-z0-9+/]{32,}={0,2}$/.test(secret))
    throw new ConfigError(
      'TRINITY_WEBHOOK_SECRET is no secret of webhooks. Expected whsec_ and at least 24 bytes in base64.',
      { code: 'WEBHOOK' },
    );
}

/**
 * Notifies the webhook that a job has ended. Retries failed attempts for about 12 minutes. Resolves
 * with true if the webhook responded with 2xx, otherwise with false. All attempts have the same
 * message id, which is derived from the job's id.
 */
export async function notifyProduct(
  job: JobRecord,
  { url, secret }: WebhookSettings,
  signal: AbortSignal,
  onFailure: (why: string) => void,
): Promise<boolean> {
  if (!isOver(job.status)) return false;
  const id = `evt_${job.id}`;
  const body = JSON.stringify({
    id,
    object: 'event',
    type: `fine_tuning.job.${job.status}`,
    created_at: job.finished_at,
    data: { id: job.id },
  });
  for (const pauseMs of [...pausesMs, undefined]) {
    const why = await post(url, headersOf(id, body, secret), body, signal);
    if (why === undefined) return true;
    if (signal.aborted) return false;
    onFailure(`The webhook for ${job.id} was not taken: ${why}.`);
    if (pauseMs === undefined || !(await slept(pauseMs, signal))) return false;
  }
  return false;
}

function headersOf(id: string, body: string, secret: string): Readonly<Record<string, string>> {
  const timestamp = String(Math.floor(Date.now() / 1000));
  const key = Buffer.from(secret.slice('whsec_'.length), 'base64');
  const signature = createHmac('sha256', key).update(`${id}.${timestamp}.${body}`).digest('base64');
  return {
    'content-type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': timestamp,
    'webhook-signature': `v1,${signature}`,
  };
}

/** Sends the message. Returns the problem, or undefined if the webhook accepted the message. */
async function post(
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  try {
    const ends = AbortSignal.any([signal, AbortSignal.timeout(deadlineMs)]);
    // A redirect would be followed with GET, and an answer to GET says nothing about the message.
    const request = { method: 'POST', headers, body, signal: ends } as const;
    const response = await fetch(url, { ...request, redirect: 'manual' });
    await response.body?.cancel();
    return response.ok ? undefined : `status ${response.status}`;
  } catch (error) {
    return describeError(error);
  }
}

/** Waits for `ms` milliseconds. Resolves with true, or with false if the signal aborts first. */
const slept = (ms: number, signal: AbortSignal): Promise<boolean> =>
  setTimeout(ms, true, { signal }).catch(() => false);
