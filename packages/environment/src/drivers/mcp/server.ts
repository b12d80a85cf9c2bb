/**
 * Location of an MCP server. The type has its own file, because the connection's types need the
 * optional SDK.
 */
/** A program that communicates over standard input and output, or a server with a URL. */
export type McpServer =
  | {
      readonly command: string;
      readonly args?: readonly string[];
      /** Environment variables, in addition to the few that the SDK passes on, such as PATH. */
      readonly env?: Readonly<Record<string, string>>;
      /** Working directory of the program. @default the folder of the episode */
      readonly cwd?: string;
    }
  | {
      /** URL of a server that uses streamable HTTP. Each episode opens its own session. */
      readonly url: string;
      readonly headers?: Readonly<Record<string, string>>;
    };
