/**
 * Turns off the telemetry of ONNX Runtime, which otherwise sends names and hashes of models to
 * Microsoft, and keeps a device id and a queue of events in `~/.cache`. ONNX Runtime reads the
 * environment variable when the first session of the process is created. A value that the user has
 * set is kept.
 *
 * Has an effect in the main thread only, because the environment of a worker thread is a copy.
 */
export function turnOffTelemetry(): void {
  process.env['ORT_DISABLE_TELEMETRY'] ??= '1';
}
