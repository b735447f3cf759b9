// Logging in: Tenon uses the keys of model providers it finds, so there is nothing to do but to say whether it found one.
import type { AuthMethod } from "@agentclientprotocol/sdk";
import { TenonError } from "../base/errors.js";
import { isJsonObject } from "../base/json/json.js";
import type { SessionHost } from "../session/index.js";

const KEYS = "environment";
const SETUP = "setup";

/** The variables people set; the configuration file and the keyring will do as well. */
const VARIABLES = "ANTHROPIC_API_KEY, OPENAI_API_KEY, GEMINI_API_KEY, or TENON_BASE_URL with TENON_API_KEY";

const KEY_METHOD: AuthMethod = {
  id: KEYS,
  name: "API key",
  description: `Uses the key of your environment or configuration (${VARIABLES}). Without one the offline model answers.`,
};

/** The client runs the agent's own command with this word more, in a terminal. */
const SETUP_METHOD: AuthMethod = {
  type: "terminal",
  id: SETUP,
  name: "Set up in a terminal",
  description: "Asks for the key of a provider and keeps it in the system's keyring",
  args: ["--setup"],
};

/** `capabilities`: what the client sent, whatever it is; a terminal is offered only to clients that have one. */
export function authMethods(capabilities: unknown): AuthMethod[] {
  const auth = isJsonObject(capabilities) ? capabilities["auth"] : undefined;
  const hasTerminal = isJsonObject(auth) && auth["terminal"] === true;
  return hasTerminal ? [KEY_METHOD, SETUP_METHOD] : [KEY_METHOD];
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
      const words = `${problem.message} Set one of ${VARIABLES}, or run tenon acp --setup in a terminal.`;
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
