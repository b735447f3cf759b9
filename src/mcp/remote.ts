// Remote transports: Streamable HTTP and the older HTTP+SSE, behind the URL rules and the World's fetch.
import type { Transport } from "@modelcontextprotocol/client";
import { TenonError } from "../base/errors.js";
import { checkUrl } from "../base/net-policy.js";
import type { World } from "../base/world.js";
import type { RemoteSpec } from "./spec.js";

export async function remoteTransport(spec: RemoteSpec, world: World): Promise<Transport> {
  const verdict = checkUrl(spec.url, { source: "typed" });
  if (!verdict.ok) throw new TenonError("mcp.url_refused", `${spec.url}: ${verdict.reason}`);
  const { SSEClientTransport, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const options = {
    fetch: (url: string | URL, init?: RequestInit) => world.fetch(url, init),
    requestInit: { headers: { ...spec.headers } },
  };
  return spec.kind === "http"
    ? new StreamableHTTPClientTransport(verdict.url, options)
    : new SSEClientTransport(verdict.url, options);
}
