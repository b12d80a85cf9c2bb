/**
 * Ways to reach an MCP server. They have their own file, because the types of the connection need
 * the optional SDK.
 */
/** An MCP server: a program that communicates over standard input and output, or a URL. */
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
