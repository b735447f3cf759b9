// Who may call what in this session: remembers "always" answers, bound to the exact definition that was approved.
import { unreachable } from "../base/brand.js";
import { messageOf } from "../base/errors.js";
import type { JsonObject } from "../base/json.js";
import type { Log } from "../base/log.js";
import type { Approval, CatalogTool } from "../tools/index.js";
import type { SessionPorts } from "./ports.js";

interface Request {
  readonly toolCallId: string;
  readonly tool: CatalogTool;
  readonly arguments: JsonObject;
}

export class Permissions {
  readonly #log: Log;
  readonly #approved = new Set<string>();

  constructor(log: Log) {
    this.#log = log;
  }

  async approve(request: Request, ports: SessionPorts | undefined, signal: AbortSignal): Promise<Approval> {
    const key = `${request.tool.id} ${request.tool.definitionHash}`;
    if (this.#approved.has(key)) return { kind: "allowed" };
    if (!ports) return { kind: "refused", reason: "nobody is attached to this session who could approve it" };
    try {
      const answer = await ports.ask(request, signal);
      switch (answer) {
        case "always":
          this.#approved.add(key);
          return { kind: "allowed" };
        case "once":
          return { kind: "allowed" };
        case "no":
          return { kind: "refused", reason: "the person said no" };
        case "cancelled":
          return { kind: "cancelled" };
        default:
          return unreachable(answer);
      }
    } catch (error) {
      if (signal.aborted) return { kind: "cancelled" };
      this.#log.warn("permission.failed", { tool: request.tool.id, error: messageOf(error) });
      return { kind: "refused", reason: `the question could not be asked: ${messageOf(error)}` };
    }
  }
}
