// Restricts the connections of a Node process that loads it (NODE_OPTIONS=--import=...) to this
// machine, where the gate is. Other connections fail, and are recorded in the file GATE_ATTEMPTS.
import { appendFileSync } from 'node:fs';
import { Socket } from 'node:net';

const loopback = new Set(['127.0.0.1', '::1', 'localhost']);
// oxlint-disable-next-line typescript/unbound-method -- called with `apply`
const { connect } = Socket.prototype;

Socket.prototype.connect = function (...args) {
  // net.connect passes its arguments as one array.
  const [options, host] = Array.isArray(args[0]) ? args[0] : args;
  const target = typeof options === 'object' ? options : { port: options, host };
  const name = target.path === undefined ? (target.host ?? 'localhost') : 'localhost';
  if (loopback.has(name)) return connect.apply(this, args);
  appendFileSync(process.env.GATE_ATTEMPTS, `${name}\n`);
  this.destroy(new Error(`${name} is not reachable here`));
  return this;
};
