// How the test client answers permission questions.
import type {
  PermissionOptionKind,
  RequestPermissionRequest,
  RequestPermissionResponse,
} from "@agentclientprotocol/sdk";
import { unreachable } from "../../../base/id.js";

/**
 * `wait`: the person is thinking; the answer comes as `cancelled` when the session is cancelled.
 * `cancel`: the person closes the question. `never`: the client forgets to answer at all.
 */
export type PermissionAnswer = "allow" | "always" | "deny" | "deny_always" | "cancel" | "wait" | "never";

export type PermissionPolicy = PermissionAnswer | ((request: RequestPermissionRequest) => PermissionAnswer);

const CANCELLED: RequestPermissionResponse = { outcome: { outcome: "cancelled" } };

export class Permissions {
  #policy: PermissionPolicy = "allow";
  readonly #waiting = new Map<string, Set<(response: RequestPermissionResponse) => void>>();

  setPolicy(policy: PermissionPolicy): void {
    this.#policy = policy;
  }

  /** Throws when the agent does not offer the option that the test wants to choose. */
  async answer(request: RequestPermissionRequest): Promise<RequestPermissionResponse> {
    const answer = typeof this.#policy === "function" ? this.#policy(request) : this.#policy;
    switch (answer) {
      case "allow":
        return select(request, "allow_once");
      case "always":
        return select(request, "allow_always");
      case "deny":
        return select(request, "reject_once");
      case "deny_always":
        return select(request, "reject_always");
      case "cancel":
        return CANCELLED;
      case "wait":
        return await this.#untilCancelled(request.sessionId);
      case "never":
        return await new Promise<never>(() => {});
      default:
        return unreachable(answer);
    }
  }

  /** The protocol wants every open question answered so when a client cancels a turn. */
  cancel(sessionId: string): void {
    for (const resolve of this.#waiting.get(sessionId) ?? []) resolve(CANCELLED);
    this.#waiting.delete(sessionId);
  }

  async #untilCancelled(sessionId: string): Promise<RequestPermissionResponse> {
    return await new Promise((resolve) => {
      const waiting = this.#waiting.get(sessionId) ?? new Set();
      this.#waiting.set(sessionId, waiting.add(resolve));
    });
  }
}

function select(request: RequestPermissionRequest, kind: PermissionOptionKind): RequestPermissionResponse {
  const option = request.options.find((candidate) => candidate.kind === kind);
  if (option) return { outcome: { outcome: "selected", optionId: option.optionId } };
  const offered = request.options.map((candidate) => candidate.kind).join(", ") || "nothing";
  throw new Error(`the agent offers no option of kind ${kind}, only ${offered}`);
}
