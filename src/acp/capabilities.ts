// The answer to `initialize`. It is given before anything heavy is loaded, so this file imports nothing that is.
import type * as acp from "@agentclientprotocol/sdk";
import { TenonError } from "../base/errors.js";
import { isJsonObject } from "../base/json/json.js";
import { VERSION } from "../base/version.js";
import type { SessionHost } from "../session/index.js";
import { sentMeta, sharedMeta } from "./meta.js";

/** The ACP version spoken; a client that asks for another one decides for itself whether it can go on with this. */
const PROTOCOL_VERSION = 1;

/** Methods of Tenon's own. */
export const MCP_STATUS = "_tenon/mcp/status" as const;
export const SET_MCP_SERVERS = "_tenon/session/set_mcp_servers";
export const SESSION_METHODS = [
  "_tenon/session/view",
  "_tenon/session/records",
  "_tenon/session/tools",
  "_tenon/session/set_tools",
  "_tenon/question/answer",
] as const;
/** For clients that are no editors: an editor has `/mcp` and `/tools` for it. */
export const SHARED_SESSION_METHODS = ["_tenon/mcp/restart", "_tenon/mcp/login", "_tenon/session/call_tool"] as const;

const OWN_METHODS: readonly string[] = [MCP_STATUS, SET_MCP_SERVERS, ...SESSION_METHODS];

/** `fork`, `status`, `title`, `systemPrompt` and servers of type `acp` are of the unstable protocol. */
const AGENT = {
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
    _meta: sentMeta({ methods: OWN_METHODS }),
  },
};

/** What a gateway adds, in `_meta.tenon` of the answer and of the capabilities. */
export interface SharedIntroduction {
  readonly meta: object;
  readonly capability: { readonly methods: readonly string[] };
}

/** `params`: of the request, as it came. */
export function introduction(
  params: unknown,
  setup?: SetupCommand,
  shared?: SharedIntroduction,
): acp.InitializeResponse & { authMethods: acp.AuthMethod[] } {
  const logins = authMethods(isJsonObject(params) ? params["clientCapabilities"] : undefined, setup);
  if (!shared) return { ...AGENT, authMethods: logins };
  const { agentCapabilities } = AGENT;
  const _meta = sharedMeta({
    ...shared.capability,
    methods: [...OWN_METHODS, ...SHARED_SESSION_METHODS, ...shared.capability.methods],
  });
  const about = { _meta: sharedMeta(shared.meta) };
  return { ...AGENT, agentCapabilities: { ...agentCapabilities, _meta }, authMethods: logins, ...about };
}

const KEYS = "environment";
const SETUP = "setup";

/** The variables people set; the configuration file and the keyring will do as well. */
const VARIABLES = "ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, or TENON_BASE_URL with TENON_API_KEY";

const KEY_METHOD: acp.AuthMethod = {
  id: KEYS,
  name: "API key",
  description: `Uses the key of your environment or configuration (${VARIABLES}). Without one the offline model answers.`,
};

/** The client runs the agent's own command with this word more, in a terminal. */
const SETUP_METHOD: acp.AuthMethod = {
  type: "terminal",
  id: SETUP,
  name: "Set up in a terminal",
  description: "Asks for the key of a provider and keeps it in the system's keyring",
  args: ["--setup"],
};

/** The whole command line of the log-in in a terminal, for clients that do not build it from the agent's own. */
export interface SetupCommand {
  readonly command: string;
  readonly args: readonly string[];
}

/** What clients called it before it was part of the protocol: Zed, hydra, and the check of the ACP registry. */
const TERMINAL_AUTH = "terminal-auth";

/** `capabilities`: what the client sent, whatever it is; a terminal is offered only to clients that have one. */
export function authMethods(capabilities: unknown, setup?: SetupCommand): acp.AuthMethod[] {
  const { auth, _meta: meta } = isJsonObject(capabilities) ? capabilities : {};
  const isOlder = isJsonObject(meta) && meta[TERMINAL_AUTH] === true;
  const hasTerminal = isJsonObject(auth) && auth["terminal"] === true;
  if (!hasTerminal && !isOlder) return [KEY_METHOD];
  if (!isOlder || !setup) return [KEY_METHOD, SETUP_METHOD];
  const _meta = { [TERMINAL_AUTH]: { label: SETUP_METHOD.name, ...setup } };
  return [KEY_METHOD, { ...SETUP_METHOD, _meta }];
}

/** One connection's word on whether its keys may be used. */
export class Authentication {
  readonly #host: Pick<SessionHost, "modelProblem">;
  #isLoggedOut = false;

  constructor(host: Pick<SessionHost, "modelProblem">) {
    this.#host = host;
  }

  /** Harmless: some editors do it with every start. Throws `model.unauthorized` when no model could answer. */
  authenticate(methodId: string): void {
    if (methodId !== KEYS) {
      const hint = methodId === SETUP ? "It is for a terminal, and not to be sent here." : `There is "${KEYS}".`;
      throw new TenonError("session.invalid_request", `there is no log-in "${methodId}" to be had here`, { hint });
    }
    const problem = this.#host.modelProblem;
    if (problem) {
      const words = `${problem.message} Set one of ${VARIABLES}, or run tenon login in a terminal.`;
      throw new TenonError("model.unauthorized", words, { cause: problem, hint: problem.hint });
    }
    this.#isLoggedOut = false;
  }

  /** Keys are the person's, and are not thrown away: this connection just uses none of them any more. */
  logout(): void {
    this.#isLoggedOut = true;
  }

  /** To be asked before anything that would use a key. */
  check(): void {
    if (!this.#isLoggedOut) return;
    const hint = `Send authenticate with "${KEYS}" to use them again.`;
    throw new TenonError("model.unauthorized", "this client logged out: no key is used for it any more", { hint });
  }
}

export interface ClientAbilities {
  /** The client shows `notice` updates. */
  readonly notices: boolean;
  /** The client shows `compaction_update`s. */
  readonly compaction: boolean;
  readonly readTextFile: boolean;
  readonly writeTextFile: boolean;
  readonly terminal: boolean;
  /** The client shows elicitation forms. */
  readonly forms: boolean;
  /** The client leads people to pages servers want them to open. */
  readonly pages: boolean;
}

export function abilitiesOf({ session, fs, terminal, elicitation }: acp.ClientCapabilities = {}): ClientAbilities {
  return {
    notices: session?.notices != null,
    compaction: session?.compaction != null,
    readTextFile: fs?.readTextFile === true,
    writeTextFile: fs?.writeTextFile === true,
    terminal: terminal === true,
    forms: elicitation?.form != null,
    pages: elicitation?.url != null,
  };
}
