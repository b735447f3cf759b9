// The answer to `initialize`. It is given before anything heavy is loaded, so this file imports nothing that is.
import type { AuthMethod } from "@agentclientprotocol/sdk";
import { isJsonObject } from "../base/json/json.js";
import { VERSION } from "../base/version.js";
import { authMethods } from "./auth.js";

/** The ACP version spoken; a client that asks for another one decides for itself whether it can go on with this. */
const PROTOCOL_VERSION = 1;

/** What can be done with sessions beside opening and prompting them. Of the unstable protocol: fork, status, title. */
type SessionAbility = "additionalDirectories" | "close" | "delete" | "fork" | "list" | "resume" | "status" | "title";

/** Of the unstable protocol too: words of the client beside Tenon's own, or in their place. */
interface PromptAbility {
  readonly systemPrompt: { readonly mode: { readonly override: Record<string, never> } };
}

export interface AgentIntroduction {
  protocolVersion: number;
  agentInfo: { name: string; title: string; version: string };
  agentCapabilities: {
    loadSession: boolean;
    promptCapabilities: { image: boolean; audio: boolean; embeddedContext: boolean };
    /** `acp` (servers of the client's own, over this connection) is of the unstable protocol. */
    mcpCapabilities: { http: boolean; sse: boolean; acp: boolean };
    sessionCapabilities: Record<SessionAbility, Record<string, never>> & PromptAbility;
    auth: { logout: Record<string, never> };
    _meta: { tenon: { methods: string[] } };
  };
  authMethods: AuthMethod[];
}

/** `params`: of the request, as it came. */
export function introduction(params: unknown): AgentIntroduction {
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: "tenon", title: "Tenon", version: VERSION },
    agentCapabilities: {
      loadSession: true,
      promptCapabilities: { image: true, audio: true, embeddedContext: true },
      mcpCapabilities: { http: true, sse: true, acp: true },
      sessionCapabilities: {
        additionalDirectories: {},
        close: {},
        delete: {},
        fork: {},
        list: {},
        resume: {},
        status: {},
        systemPrompt: { mode: { override: {} } },
        title: {},
      },
      auth: { logout: {} },
      _meta: { tenon: { methods: ["_tenon/mcp/status", "_tenon/session/set_mcp_servers"] } },
    },
    authMethods: authMethods(isJsonObject(params) ? params["clientCapabilities"] : undefined),
  };
}
