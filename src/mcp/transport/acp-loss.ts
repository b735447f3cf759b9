// What it means for a request when the carrier of MCP-over-ACP answers with an error of its own.
import { TenonError } from "../../base/errors.js";
import type { ChannelAnswer } from "./acp-channel.js";
import type { RequestLoss } from "./transport.js";

type Failure = Extract<ChannelAnswer, { kind: "failed" }>;

/** The codes of the binding. They are never those of an MCP server, whose errors travel inside a success. */
const METHOD_NOT_FOUND = -32_601;
const INVALID_PARAMS = -32_602;
const CANCELLED = -32_800;
const LIMIT = -33_000;
const SERVER_GONE = -33_001;
const BACKEND_FAILED = -33_002;

export function lossOf({ code, message }: Failure): RequestLoss {
  const said = code === undefined ? message : `${message} (${code})`;
  switch (code) {
    case LIMIT:
      return lost("mcp.rate_limited", `the client takes no more requests to this server at once: ${said}`, false);
    case SERVER_GONE:
      return lost("mcp.unavailable", `the client does not offer this server any more: ${said}`, false);
    case METHOD_NOT_FOUND:
      return lost(
        "mcp.unsupported_version",
        `the client named a server of type "acp" and does not know mcp/message: ${said}`,
        false,
      );
    case INVALID_PARAMS:
      return lost("mcp.protocol", `the client refused the message to its server: ${said}`, false);
    case CANCELLED:
      return lost("mcp.connection_lost", `the client gave the request up: ${said}`, true);
    case BACKEND_FAILED:
      return lost("mcp.unavailable", `the client could not get an answer from its server: ${said}`, true);
    case undefined:
      return lost("mcp.connection_lost", `the connection to the client ended: ${said}`, true);
    default:
      return lost("mcp.protocol", `the client answered for its server with an error: ${said}`, true);
  }
}

/** Nothing more can be asked over this transport: the server was taken back, the client cannot do this, or it is gone. */
export function isEnd({ code }: Failure): boolean {
  return code === SERVER_GONE || code === METHOD_NOT_FOUND || code === undefined;
}

function lost(code: ConstructorParameters<typeof TenonError>[0], text: string, wasSent: boolean): RequestLoss {
  return { error: new TenonError(code, text), wasSent };
}
