// The answer to `initialize`. It is given before anything heavy is loaded, so this file imports nothing that is.
import { VERSION } from "../base/version.js";

/** The ACP version spoken; a client that asks for another one decides for itself whether it can go on with this. */
const PROTOCOL_VERSION = 1;

export interface AgentIntroduction {
  protocolVersion: number;
  agentInfo: { name: string; title: string; version: string };
  agentCapabilities: {
    loadSession: boolean;
    promptCapabilities: { image: boolean; audio: boolean; embeddedContext: boolean };
    mcpCapabilities: { http: boolean; sse: boolean };
    sessionCapabilities: { close: Record<string, never> };
    _meta: { tenon: { methods: string[] } };
  };
  authMethods: never[];
}

export function introduction(): AgentIntroduction {
  return {
    protocolVersion: PROTOCOL_VERSION,
    agentInfo: { name: "tenon", title: "Tenon", version: VERSION },
    agentCapabilities: {
      loadSession: false,
      promptCapabilities: { image: true, audio: false, embeddedContext: true },
      mcpCapabilities: { http: true, sse: true },
      sessionCapabilities: { close: {} },
      _meta: { tenon: { methods: ["_tenon/mcp/status"] } },
    },
    authMethods: [],
  };
}
