import type { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';

export declare function counterServer(): McpServer;
