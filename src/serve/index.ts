// The public face of `serve`: the catalog of all configured servers as one MCP server.
import type { JsonObject } from "../base/json/json.js";
import type { SessionHost } from "../session/index.js";
import { HttpServing, type HttpServingOptions } from "./http.js";
import { ServedClient, type ServeSettings } from "./served-client.js";
import { type StdioOptions, StdioServing } from "./stdio.js";

export type { ServeSettings } from "./served-client.js";
export { unstoredSessions } from "./unstored-sessions.js";

export interface ServeOptions {
  readonly host: SessionHost;
  /** Whose configuration it is, and the directory that servers are told of. */
  readonly cwd: string;
  readonly settings: ServeSettings;
}

export function serveStdio(
  options: ServeOptions,
  streams: Pick<StdioOptions, "input" | "output">,
): Pick<StdioServing, "closed" | "flush" | "close"> {
  return new StdioServing({ ...common(options), ...streams });
}

/** `start` begins to listen. */
export function serveHttp(
  options: ServeOptions,
  place: Pick<HttpServingOptions, "listen" | "tokens" | "hosts">,
): Pick<HttpServing, "start" | "close"> {
  return new HttpServing({ ...common(options), ...place });
}

interface Opening {
  readonly isModern: boolean;
  readonly capabilities: JsonObject;
  readonly name: string;
}

function common({ host, cwd, settings }: ServeOptions) {
  const { world } = host;
  const instructions = settings.isSearch ? SEARCH_INSTRUCTIONS : INSTRUCTIONS;
  const open = (given: Opening) => {
    const session = host.createSession({ cwd, sharesServers: false });
    const client = new ServedClient({ world, session, settings, ...given });
    world.log.info("serve.client", {
      client: given.name,
      era: given.isModern ? "modern" : "legacy",
      session: session.id,
    });
    return client;
  };
  return { world, instructions, open };
}

const POLICY =
  "Every call is under the policy of the person who configured them: one that is refused says why, and calling again does not help.";
const INSTRUCTIONS = `The tools of several MCP servers, served by Tenon. ${POLICY}`;
const SEARCH_INSTRUCTIONS = `The tools of several MCP servers, behind search: find one with tenon_search_tools, then call it with tenon_call_tool. ${POLICY}`;
