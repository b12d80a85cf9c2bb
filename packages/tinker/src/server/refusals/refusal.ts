/**
 * Errors that reject a request, either in its immediate response or in the response to the request
 * for its result.
 */

/** An error that is sent to the client with an HTTP error status for which clients do not retry. */
export class Refusal extends Error {
  override readonly name = 'Refusal';
  readonly status: 400 | 401 | 404 | 409 | 413 | 415 | 422;

  constructor(status: Refusal['status'], message: string) {
    super(message);
    this.status = status;
  }
}

/**
 * Rejects a request that refers to something that does not exist.
 * @throws Refusal 404
 */
export function notFound(missing: string): never {
  throw new Refusal(
    404,
    `${missing}: it was unloaded, its session has ended, or the server has been started again. Create it again from saved weights.`,
  );
}
