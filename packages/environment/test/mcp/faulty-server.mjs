/** MCP server, built with the official SDK, whose tools make it fail. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const server = new McpServer({ name: 'faulty', version: '1' });
const tool = (name, run) => server.registerTool(name, { inputSchema: { n: z.number() } }, run);
tool('double', ({ n }) => ({ content: [{ type: 'text', text: String(2 * n) }] }));
tool('die', () => {
  process.stderr.write('out of memory');
  process.kill(process.pid, 'SIGKILL');
});
tool('hang', () => new Promise(() => {}));
await server.connect(new StdioServerTransport());
