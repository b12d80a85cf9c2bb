/** MCP server with a number per session that its tools change; also a program for standard input and output. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

export function counterServer() {
  let value = 0;
  const server = new McpServer({ name: 'counter', version: '1' });
  const tool = (name, change) =>
    server.registerTool(name, { inputSchema: { n: z.number().int() } }, ({ n }) => {
      value = change(n);
      return { content: [{ type: 'text', text: String(value) }] };
    });
  tool('add', (n) => value + n);
  tool('multiply', (n) => value * n);
  return server;
}

if (process.argv[2] === 'stdio') await counterServer().connect(new StdioServerTransport());
